"""How a command declares itself, and how the command line finds the declarations.

A new command is one new file in this folder. It needs no entry in any list::

    # pytest_kafkacheck/cli/hello.py
    def _run(options: argparse.Namespace) -> int:
        print("hello")
        return AS_EXPECTED

    COMMAND = Command(
        name="hello", help="print a greeting", order=85, run=_run, examples=("kafkacheck hello",)
    )

All command files are imported whenever ``kafkacheck`` starts. So a command imports docker, kafka, pyspark and other
large packages inside of its functions: ``kafkacheck --help`` takes 0.1 s of CPU time, and would take 0.8 s with them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from pytest_kafkacheck.cli.parser import EXAMPLES


def examples(lines: Sequence[str]) -> str | None:
    """The part of help that shows these command lines; None where there is none."""
    return "\n".join([EXAMPLES, *(f"  {line}" for line in lines)]) if lines else None


def _no_options(_: argparse.ArgumentParser) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, such as ``kafkacheck replay``.

    name         what the user types.
    help         one line for the list of commands.
    order        position in the list of commands: the lowest number is listed first.
    run          carries it out and returns the exit status, see `exit_status`. A `KafkacheckError` that it raises is
                 printed, and decides the exit status.
    add_options  adds its options and arguments to its parser; default: it has none.
    examples     whole command lines that its help shows.
    """

    name: str
    help: str
    order: int
    run: Callable[[argparse.Namespace], int]
    add_options: Callable[[argparse.ArgumentParser], None] = _no_options
    examples: tuple[str, ...] = ()

    def add_to(self, commands: argparse._SubParsersAction[Any]) -> None:
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=f"{self.help[0].upper()}{self.help[1:]}.",
            epilog=examples(self.examples),
        )
        self.add_options(parser)
        parser.set_defaults(command=self)


@dataclass(frozen=True, kw_only=True)
class CommandGroup:
    """A command with actions, such as ``kafkacheck cluster up``. Each action is a Command in a file of `package`."""

    name: str
    help: str
    order: int
    package: str

    def add_to(self, commands: argparse._SubParsersAction[Any]) -> None:
        found = discover(self.package)
        actions = commands.add_parser(
            self.name,
            help=self.help,
            description=f"{self.help[0].upper()}{self.help[1:]}.",
            epilog=examples(
                [action.examples[0] for action in found if isinstance(action, Command) and action.examples]
            ),
        ).add_subparsers(required=True, metavar="ACTION")
        for action in found:
            action.add_to(actions)


SECTIONS = (
    (24, "to begin"),
    (50, "to run and judge"),
    (99, "to look at runs"),
    (999, "clusters, images, shells"),
)
"""Of the list of commands: the last `order` of each, and its heading."""


def in_sections(commands: Sequence[Command | CommandGroup]) -> dict[str, list[str]]:
    """The names of the commands by the heading of their section."""
    found: dict[str, list[str]] = {heading: [] for _, heading in SECTIONS}
    for each in commands:
        found[next(heading for last, heading in SECTIONS if each.order <= last)].append(each.name)
    return found


def discover(package: str) -> list[Command | CommandGroup]:
    """The commands that the files directly in a package declare, in the order in which help lists them."""
    modules = (
        import_module(f"{package}.{found.name}") for found in iter_modules(import_module(package).__path__)
    )
    found = [module.COMMAND for module in modules if hasattr(module, "COMMAND")]
    return sorted(found, key=lambda command: (command.order, command.name))
