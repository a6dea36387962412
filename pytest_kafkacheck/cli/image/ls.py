"""``kafkacheck image ls``: list the broker images and their state."""

from __future__ import annotations

import argparse
from contextlib import closing

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.results import add_json_option, check_json, write_json
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser, "a list with one object per image")


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.setup.image_build import listed

    check_json(options.json)
    with closing(connect()) as client:
        images = list(listed(client))
    if options.json is not None:
        keys = ("version", "image", "state", "bytes")
        write_json(options.json, [dict(zip(keys, image, strict=True)) for image in images])
    if options.json != "-":
        table = Table("Kafka", "image", "state", "MB", box=None)
        for version, name, state, size in images:
            table.add_row(version, name, state, "" if size is None else f"{size / 1e6:.0f}")
        Console().print(table)
    return AS_EXPECTED


COMMAND = Command(
    name="ls",
    help="list the images and their state",
    order=20,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck image ls", "kafkacheck image ls --json"),
)
