"""``kafkacheck show``: what one kept run was and showed, in about twenty lines."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.options import add_run_argument
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.kept_runs.figures import NAMES, figure_text

if TYPE_CHECKING:
    from pytest_kafkacheck.kept_runs.run_summary import RunSummary


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_json_option(parser)


def _run(options: argparse.Namespace) -> int:
    """Status 0 whatever the verdict: this command does not judge."""
    from pytest_kafkacheck.kept_runs.figures import figures
    from pytest_kafkacheck.kept_runs.run_summary import find_one

    check_json(options.json)
    run = find_one(options.run, options.dir)
    if options.json is not None:
        write_json(
            options.json,
            {
                **run.to_json(),
                "anomalies": run.anomalies,
                "figures": figures(run).to_json(),
                "experiment": dict(run.experiment),
                "environment": dict(run.environment),
            },
        )
    if options.json != "-":
        print("\n".join(lines(run)))
    return AS_EXPECTED


def lines(run: RunSummary) -> Iterator[str]:
    from pytest_kafkacheck.kept_runs.figures import figures

    began = "" if run.began is None else f", {run.began:%Y-%m-%d %H:%M:%S}"
    yield f"{run.name} (run {run.run}{began})"
    yield f"verdict   {run.result}, expected {run.expected}"
    if run.cause:
        yield f"cause     {run.cause}"
    for anomaly, count in run.anomalies.items():
        yield f"          {anomaly} ×{count:,}"
    for reason in run.verdict.get("unknowns") or ():
        yield f"unknown   {reason}"
    workload, cluster = run.experiment.get("workload") or {}, run.experiment.get("cluster") or {}
    if workload:
        yield (
            f"workload  {workload.get('type', '?')}, acks={workload['acks']}"
            if "acks" in workload
            else (f"workload  {workload.get('type', '?')}")
        )
    if cluster:
        yield f"cluster   Kafka {run.version or '?'}, {cluster.get('brokers', '?')} brokers"
    for event in run.experiment.get("faults") or ():
        lasting = f" for {event['lasting']:g} s" if event.get("lasting") else ""
        when = f"at {event['at']:g} s" if event.get("at") is not None else "after a trigger"
        yield f"fault     {event.get('fault')} {event.get('target')} {when}{lasting}"
    for name, value in figures(run).to_json().items():
        if value is not None:
            yield f"figure    {NAMES[name]} {figure_text(name, value)}"
    yield f"files     {run.path}, {run.size / 1e6:.1f} MB"
    yield from _commands(run)


def _commands(run: RunSummary) -> Iterator[str]:
    place = shlex.quote(str(Path(run.path)))
    if not run.verdict:
        yield f"judge     kafkacheck analyze {place}"
    elif run.anomalies:
        yield f"more      kafkacheck explain {place}"
    if run.experiment:
        yield f"again     kafkacheck replay {place}"


COMMAND = Command(
    name="show",
    help="show what a run was and what it found",
    order=54,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck show latest", "kafkacheck show 7b29cd07 --json"),
)
