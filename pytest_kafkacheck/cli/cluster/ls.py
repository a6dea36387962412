"""``kafkacheck cluster ls``: list clusters and the processes that own them."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import closing
from typing import Any

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser, "a list with one object per cluster")


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.engine import connect, is_local
    from pytest_kafkacheck.cluster.docker.plan import PART, SPEC

    check_json(options.json)
    headings = ("name", "cluster", "nodes", "age", "owner")
    rows = []
    now = time.time()
    with closing(connect()) as client:
        running = {each["Id"] for each in client.api.containers(filters={"label": reaper.RUN})}
        for run, parts in sorted(reaper.parts_by_run(client).items()):
            nodes = [part for part in parts if part.labels.get(PART) == "node"]
            spec = next((part.labels[SPEC] for part in parts if SPEC in part.labels), None)
            row = (
                run,
                _described(spec) if spec else _without_spec(parts),
                f"{sum(node.id in running for node in nodes)} of {len(nodes)} run",
                _duration(now - min(part.created for part in parts)),
                _owner(parts, now, local=is_local(client)),
            )
            rows.append(row)
    if options.json is not None:
        write_json(options.json, [dict(zip(headings, row, strict=True)) for row in rows])
    if options.json != "-":
        table = Table(*headings, box=None)
        for row in rows:
            table.add_row(*row)
        Console().print(table if rows else "no clusters")
    return AS_EXPECTED


def _without_spec(parts: list[Any]) -> str:
    from pytest_kafkacheck.cluster.docker import reaper

    used = next((part.labels[reaper.USES] for part in parts if reaper.USES in part.labels), None)
    return f"(an application on {used})" if used else "(is being created or removed)"


def _described(spec: str) -> str:
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    try:
        return ClusterSpec.from_json(json.loads(spec)).describe()
    except (TypeError, UsageError):
        return "(created by another release of kafkacheck)"


def _owner(parts: list[Any], now: float, *, local: bool) -> str:
    """Of a kept cluster the processes that use it now, of another one the process that started it."""
    from pytest_kafkacheck.cluster.docker import reaper

    if any(reaper.KEPT in part.labels for part in parts):
        users = [
            part
            for part in parts
            if reaper.CLAIM in part.labels and not reaper.is_orphaned(part.labels, local=local)
        ]
        return "kept" + "".join(f", used by process {_process_id(part)}" for part in users)
    if reaper.is_abandoned(parts, now=now, local=local):
        return "left behind: kafkacheck cluster down"
    return f"process {_process_id(parts[0])} on {parts[0].labels[reaper.HOST]}"


def _process_id(part: Any) -> str:
    from pytest_kafkacheck.cluster.docker import reaper

    return str(part.labels[reaper.OWNER]).partition("@")[0]


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


COMMAND = Command(
    name="ls",
    help="list clusters and their owners",
    order=20,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck cluster ls", "kafkacheck cluster ls --json"),
)
