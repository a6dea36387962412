"""``kafkacheck cluster down``: remove clusters."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED
from pytest_kafkacheck.errors import UsageError


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="*",
        help="of kafkacheck cluster ls; default: what killed sessions left behind",
    )
    parser.add_argument(
        "--all", action="store_true", help="all clusters: also kept ones, and those of running sessions"
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="with --all: do not ask before clusters of running sessions are removed",
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
            if options.all and not options.yes:
                _ask(_in_use(client))
            removed = reaper.remove_all(client) if options.all else reaper.sweep(client)
    print(f"removed {len(removed)}: {', '.join(removed)}" if removed else "nothing to remove")
    return AS_EXPECTED


def _in_use(client: Any) -> dict[str, list[str]]:
    """The sessions that use each cluster; clusters that none uses are left out."""
    from pytest_kafkacheck.cluster.docker import reaper
    from pytest_kafkacheck.cluster.docker.engine import is_local

    local, now = is_local(client), time.time()
    runs = reaper.parts_by_run(client).items()
    used = {
        run: reaper.users(parts, local=local)
        for run, parts in sorted(runs)
        if not reaper.is_abandoned(parts, now=now, local=local)
    }
    return {run: users for run, users in used.items() if users}


def _ask(used: Mapping[str, list[str]]) -> None:
    """Return when nothing is in use, or when the user agrees. Raises UsageError otherwise."""
    if not used:
        return
    listed = "; ".join(f"{run} by {', '.join(users)}" for run, users in used.items())
    if not sys.stdin.isatty():
        raise UsageError(
            f"cluster down --all: in use are {listed}. Give --yes to remove these as well, or name clusters"
        )
    if input(
        f"In use are {listed}.\nRemove all clusters, and end these sessions' tests? [y/N] "
    ).strip() not in (
        "y",
        "yes",
    ):
        raise UsageError("cluster down --all: nothing was removed")


COMMAND = Command(
    name="down",
    help="remove clusters by name; without a name, what killed sessions left behind",
    order=60,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck cluster down",
        "kafkacheck cluster down orders",
        "kafkacheck cluster down --all --yes",
    ),
)
