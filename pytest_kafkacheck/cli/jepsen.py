"""``kafkacheck analyze --profile jepsen`` and ``kafkacheck export``: histories to and from Jepsen."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.exit_status import status, worst
from pytest_kafkacheck.cli.json_output import write_json
from pytest_kafkacheck.errors import UsageError

if TYPE_CHECKING:
    from analyzers.jepsen.verdict import Judged

SHOWN = 3
"""Errors of a type that are printed; the JSON has more."""


def add_jepsen_options(analyze: argparse.ArgumentParser) -> None:
    """Options of ``analyze`` that belong to the profile jepsen."""
    jepsen = analyze.add_argument_group("with --profile jepsen")
    jepsen.add_argument(
        "--ww-deps",
        action=argparse.BooleanOptionalAction,
        help="whether the order of writes in a log counts as a dependency; default: it does",
    )
    jepsen.add_argument(
        "--sub-via",
        choices=("assign", "subscribe"),
        help="how consumers got their partitions: with subscribe, polls may skip and go back between "
        "operations; default: subscribe",
    )


def add_export(export: argparse.ArgumentParser) -> None:
    export.add_argument("run", type=Path, help="the run's folder")
    export.add_argument(
        "--edn", type=Path, required=True, metavar="FILE", help="write a history.edn of Jepsen"
    )


def analyze_jepsen(options: argparse.Namespace) -> int:
    """Judge histories by the reference's rules, print the answers, and write them as JSON."""
    from analyzers.jepsen.analyze import analyze
    from analyzers.jepsen.verdict import Options
    from pytest_kafkacheck.spark import Spark, parse_settings

    if options.allow:
        raise UsageError("--allow goes with --profile native only: Jepsen's rules say what is allowed")
    rules = Options(ww_deps=options.ww_deps is not False, sub_via=options.sub_via or "subscribe")
    spark = Spark(master=options.spark_master, conf=parse_settings(options.spark_conf), warmed=False)
    try:
        answers = analyze(spark.session(), [Path(path) for path in options.paths], options=rules)
    finally:
        spark.stop()
    if options.json is not None:
        write_json(options.json, [answer.to_json() for answer in answers])
    if options.json != "-":
        for answer in answers:
            print(text(answer))
    return worst([status(VERDICTS[answer.valid], "valid") for answer in answers])


def text(answer: Judged) -> str:
    """An answer for people."""
    lines = [f"{answer.file}: {VERDICTS[answer.valid]}"]
    lines += [f"  {line}" for line in (answer.error, *answer.reasons) if line]
    for kind, found in answer.errors.items():
        allowed = "" if kind in answer.bad else ", allowed"
        lines.append(f"  {kind}: {answer.counts[kind]}{allowed}")
        shown = found[:SHOWN] if isinstance(found, list) else [found]
        lines += [f"    {json.dumps(one, ensure_ascii=False)[:300]}" for one in shown if one is not True]
    return "\n".join(lines)


VERDICTS: dict[bool | str, str] = {True: "valid", False: "invalid", "unknown": "unknown"}


def export(run: Path, edn: Path) -> int:
    """Write a run's history as EDN; how many rows. Raises UsageError for a folder without a history."""
    from workloads.history.jepsen.export import export_edn

    try:
        return export_edn(run, edn)
    except (ValueError, OSError) as error:
        raise UsageError(f"{run}: cannot be exported to {edn}: {error}") from error
