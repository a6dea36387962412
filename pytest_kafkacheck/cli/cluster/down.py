"""``kafkacheck cluster down``: remove clusters."""

from __future__ import annotations

import argparse
from contextlib import closing

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*")
    parser.add_argument(
        "--all", action="store_true", help="all clusters: also kept ones, and those of running sessions"
    )


def _run(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.engine import connect

    if options.all and options.name:
        raise UsageError("cluster down: give names or --all, not both")
    with closing(connect()) as client:
        if options.name:
            existing = reaper.parts_by_run(client)
            for name in options.name:
                if name not in existing:
                    raise UsageError(
                        f"there is no cluster {name!r}; `kafkacheck cluster ls` lists those there are"
                    )
            for name in options.name:
                reaper.remove_run(client, name)
            removed = list(options.name)
        else:
            removed = reaper.remove_all(client) if options.all else reaper.sweep(client)
    print(f"removed {len(removed)}: {', '.join(removed)}" if removed else "nothing to remove")
    return AS_EXPECTED


COMMAND = Command(
    name="down",
    help="remove clusters by name; without a name, what killed sessions left behind",
    order=60,
    add_options=_add_options,
    run=_run,
)
