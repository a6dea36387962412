"""The tables of docs/commands.md: commands with their examples, and exit statuses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from _blocks import replaced, table

from pytest_kafkacheck.cli.command import Command, CommandGroup, discover
from pytest_kafkacheck.cli.exit_status import MEANING_OF


def generate(root: Path) -> dict[Path, str]:
    page = root / "docs" / "commands.md"
    text = page.read_text(encoding="utf-8")
    for name, body in blocks().items():
        text = replaced(text, name, body)
    return {page: text}


def blocks() -> dict[str, str]:
    """Name of a generated block to its Markdown."""
    found = [*commands()]
    details = [
        f"### {name}\n\n{each.help[0].upper()}{each.help[1:]}.\n\n{_details(each)}" for name, each in found
    ]
    return {
        "commands": table(
            ["command", "does"], [[f"[`{name}`](#{_anchor(name)})", each.help] for name, each in found]
        ),
        "exit statuses": table(
            ["status", "means"], [[str(number), meaning] for number, meaning in MEANING_OF.items()]
        ),
        "each command": "\n\n".join(details),
    }


def commands() -> Iterator[tuple[str, Command]]:
    """All commands, also those in groups, with the words that the user types after ``kafkacheck``."""
    for each in discover("pytest_kafkacheck.cli"):
        if isinstance(each, Command):
            yield each.name, each
            continue
        assert isinstance(each, CommandGroup)
        for action in discover(each.package):
            assert isinstance(action, Command)
            yield f"{each.name} {action.name}", action


def _details(command: Command) -> str:
    parser = argparse.ArgumentParser(add_help=False)
    command.add_options(parser)
    rows = [
        [f"`{_name(action)}`", _help(action)]
        for action in parser._actions
        if action.help != argparse.SUPPRESS
    ]
    examples = "\n".join(["```", *command.examples, "```"])
    return f"{table(['argument', 'means'], rows)}\n\n{examples}" if rows else examples


def _name(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return metavar
    takes = "" if action.nargs == 0 else f" [{metavar}]" if action.nargs == "?" else f" {metavar}"
    if action.choices is not None and action.metavar is None:
        takes = f" {{{','.join(map(str, action.choices))}}}"
    return f"{', '.join(action.option_strings)}{takes}"


def _help(action: argparse.Action) -> str:
    values = {**vars(action), "prog": "kafkacheck"}
    return (action.help or "") % values


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
