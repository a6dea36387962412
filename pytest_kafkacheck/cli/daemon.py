"""``kafkacheck daemon``: the process in the background that keeps Spark warm."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

IDLE = 600.0
"""Seconds without a command after which it ends."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stop", action="store_true", help="end it, also a command that it carries out")
    parser.add_argument(
        "--serve",
        action="store_true",
        help="be the daemon, in the foreground",
    )
    parser.add_argument(
        "--idle",
        metavar="SECONDS",
        type=float,
        default=IDLE,
        help="with --serve: end after this time without a command; default: %(default)g",
    )
    parser.add_argument("--ready", metavar="DESCRIPTOR", type=int, help=argparse.SUPPRESS)


def _run(options: argparse.Namespace) -> int:
    if options.serve:
        return _serve(options)
    from pytest_kafkacheck.daemon.processes import end, found

    daemons = found()
    if not daemons:
        print("no daemon runs; analyze and explain start one when they need Spark")
    for daemon in daemons:
        if options.stop:
            end(daemon)
        print(
            f"{'ended' if options.stop else 'runs'}: process {daemon.pid}, {daemon.memory_mb} MB, {daemon.socket}"
        )
    return AS_EXPECTED


def _serve(options: argparse.Namespace) -> int:
    from pytest_kafkacheck.cli.main import main
    from pytest_kafkacheck.daemon.server import serve

    def ready(word: bytes) -> None:
        if options.ready is None:
            print({b"listens": "listens", b"other": "another daemon of this user runs"}[word], flush=True)
        else:
            os.write(options.ready, word)
            os.close(options.ready)

    with suppress(BrokenPipeError):  # the command that started it does not wait any more
        serve(main, idle=options.idle, ready=ready)
    return AS_EXPECTED


COMMAND = Command(
    name="daemon",
    help="show or end the process that keeps Spark warm between commands",
    order=130,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck daemon", "kafkacheck daemon --stop"),
)
