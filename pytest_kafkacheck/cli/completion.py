"""``kafkacheck completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

SHELLS = ("bash", "zsh", "fish", "tcsh")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def _run(options: argparse.Namespace) -> int:
    import shtab

    from pytest_kafkacheck.cli.main import parser

    made = parser()
    _complete_files(made, shtab.FILE)
    print(shtab.complete(made, shell=options.shell))
    return AS_EXPECTED


def _complete_files(parser: argparse.ArgumentParser, complete: object) -> None:
    """Mark the arguments that are files or folders; fish completes no file names without it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _complete_files(each, complete)
        elif action.type is Path or action.metavar == "RUN":
            setattr(action, "complete", complete)  # noqa: B010 - an attribute that shtab reads


COMMAND = Command(
    name="completion",
    help="print a script that completes commands in a shell",
    order=120,
    add_options=_add_options,
    run=_run,
    examples=(
        "kafkacheck completion bash > ~/.local/share/bash-completion/completions/kafkacheck",
        "kafkacheck completion zsh > ~/.zfunc/_kafkacheck",
        "kafkacheck completion fish > ~/.config/fish/completions/kafkacheck.fish",
    ),
)
