"""``kafkacheck image ls``: list the broker images and their state."""

from __future__ import annotations

import argparse
from contextlib import closing

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED


def _run(_: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.setup.image_build import listed

    table = Table("Kafka", "image", "state", "MB", box=None)
    with closing(connect()) as client:
        for version, name, state, size in listed(client):
            table.add_row(version, name, state, "" if size is None else f"{size / 1e6:.0f}")
    Console().print(table)
    return AS_EXPECTED


COMMAND = Command(name="ls", help="list the images and their state", order=20, run=_run)
