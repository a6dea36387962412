"""``kafkacheck completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

SHELLS = ("bash", "zsh", "tcsh")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def _run(options: argparse.Namespace) -> int:
    import shtab

    from pytest_kafkacheck.cli.main import parser

    print(shtab.complete(parser(), shell=options.shell))
    return AS_EXPECTED


COMMAND = Command(
    name="completion",
    help="print a script that completes commands in a shell",
    order=120,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck completion bash > ~/.local/share/bash-completion/completions/kafkacheck",
        "kafkacheck completion zsh > ~/.zfunc/_kafkacheck",
    ),
)
