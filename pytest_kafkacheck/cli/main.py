"""The entry point of ``kafkacheck``: parse the arguments, run the command, turn errors into exit statuses."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_kafkacheck.cli.command import Command, discover, examples, in_sections
from pytest_kafkacheck.cli.common.console import brief_logs
from pytest_kafkacheck.cli.exit_status import (
    AS_EXPECTED,
    INFRASTRUCTURE,
    INTERRUPTED,
    MEANINGS,
    NOT_AS_EXPECTED,
    UNKNOWN,
    USAGE,
)
from pytest_kafkacheck.cli.parser import SECTIONS, Parser
from pytest_kafkacheck.daemon.hand_over import HandOver
from pytest_kafkacheck.disk_space import full_disk_said
from pytest_kafkacheck.errors import InfrastructureError, KafkacheckError, UsageError
from pytest_kafkacheck.guard import check_siblings
from pytest_kafkacheck.termination import terminated_like_interrupted

EXAMPLES = (
    "kafkacheck setup && kafkacheck demo",
    "kafkacheck init && pytest test_kafka.py",
    "kafkacheck ls --failed",
    "kafkacheck explain latest",
)


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        if (sys.argv[1:] if arguments is None else arguments) == []:
            print(first_help())
            return USAGE
        options = parser().parse_args(arguments)
        options.arguments = sys.argv[1:] if arguments is None else list(arguments)
        command: Command = options.command
        check_siblings()
        with terminated_like_interrupted(), brief_logs(), full_disk_said(Path.cwd()):
            return _run(command, options)
    except UsageError as error:
        _complain(error)
        return USAGE
    except KafkacheckError as error:
        _complain(error)
        return INFRASTRUCTURE if isinstance(error, InfrastructureError) else NOT_AS_EXPECTED
    except KeyboardInterrupt as interrupt:
        if arguments is None:  # the process ends: a second Ctrl-C has nothing left to interrupt
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _complain("interrupted; everything it had started is removed")
        for note in getattr(interrupt, "__notes__", ()):
            _complain(note)
        return INTERRUPTED


def _run(command: Command, options: argparse.Namespace) -> int:
    try:
        return command.run(options)
    except HandOver:
        from pytest_kafkacheck.daemon.client import carry_out

        status = carry_out(options.arguments)
        if status is not None:
            return status
        options.no_daemon = True
        return command.run(options)


def parser() -> Parser:
    from pytest_kafkacheck import __version__

    made = Parser(
        prog="kafkacheck",
        description="Real Kafka clusters, real faults, and a verdict.",
        epilog=f"{examples(EXAMPLES)}\n\n{MEANINGS}",
    )
    made.add_argument("--version", action="version", version=f"kafkacheck {__version__}")
    commands = made.add_subparsers(required=True, metavar="COMMAND", title="commands")
    found = discover("pytest_kafkacheck.cli")
    setattr(commands, SECTIONS, in_sections(found))
    for command in found:
        command.add_to(commands)
    return made


BEGINNERS = ("setup", "demo", "init", "explain", "doctor")
"""Commands of somebody who has just installed kafkacheck, in the order in which they are needed."""


def first_help() -> str:
    """What ``kafkacheck`` without arguments prints."""
    helps = {command.name: command.help for command in discover("pytest_kafkacheck.cli")}
    return "\n".join(
        [
            "Real Kafka clusters, real faults, and a verdict. To begin:",
            "",
            *(f"  kafkacheck {name:8} {helps[name]}" for name in BEGINNERS),
            "",
            f"All {len(helps)} commands: kafkacheck --help. One of them: kafkacheck COMMAND --help.",
        ]
    )


def _complain(problem: object) -> None:
    print(f"kafkacheck: {problem}", file=sys.stderr)


__all__ = [
    "AS_EXPECTED",
    "INFRASTRUCTURE",
    "INTERRUPTED",
    "NOT_AS_EXPECTED",
    "UNKNOWN",
    "USAGE",
    "main",
    "parser",
]
