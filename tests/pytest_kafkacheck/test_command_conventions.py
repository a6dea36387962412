"""All commands keep to one convention: help for every option, examples that parse, ``--json``, names of runs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.command import Command, CommandGroup, discover
from pytest_kafkacheck.cli.exit_status import MEANING_OF

WITHOUT_RESULTS = {
    "setup",
    "init",
    "pack",
    "export",
    "report",
    "completion",
    "serve",
    "daemon",
    "cluster up",
    "cluster logs",
    "cluster properties",
    "cluster export",
    "cluster down",
    "image build",
}
"""Commands that make something and print where it is, or print text that another program reads."""

TAKES_RUN = {"analyze", "explain", "replay", "shrink", "export", "show", "compare", "pack", "report"}


def commands() -> Iterator[tuple[str, Command]]:
    for each in discover("pytest_kafkacheck.cli"):
        if isinstance(each, CommandGroup):
            for action in discover(each.package):
                assert isinstance(action, Command)
                yield f"{each.name} {action.name}", action
        else:
            yield each.name, each


def actions(command: Command) -> list[argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    command.add_options(parser)
    return parser._actions


each_command = pytest.mark.parametrize(
    ("name", "command"), [pytest.param(*each, id=each[0].replace(" ", "-")) for each in commands()]
)


@each_command
def test_every_option_has_help(name: str, command: Command) -> None:
    without = [action.option_strings or action.dest for action in actions(command) if not action.help]
    assert not without, f"kafkacheck {name}: no help for {without}"


@each_command
def test_help_has_examples_and_each_is_accepted_by_the_parser(
    name: str, command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.examples, f"kafkacheck {name}: no examples"
    with pytest.raises(SystemExit):
        cli.parser().parse_args([*name.split(), "--help"])
    text = capsys.readouterr().out
    assert "\nexamples:\n" in text
    for example in command.examples:
        assert f"\n  {example}\n" in text, "a terminal does not fold it"
        program, *arguments = shlex.split(example.partition(" > ")[0])
        assert program == "kafkacheck"
        assert cli.parser().parse_args(arguments).command is command


@each_command
def test_results_can_be_had_as_json(name: str, command: Command) -> None:
    found = [action for action in actions(command) if "--json" in action.option_strings]
    if name in WITHOUT_RESULTS:
        assert not found, "it is not to be in the list of commands without results"
        return
    assert found, f"kafkacheck {name}: no --json"
    assert (found[0].metavar, found[0].nargs, found[0].const) == ("OUT", "?", "-"), "one form everywhere"


@each_command
def test_a_run_is_named_in_the_same_ways_everywhere(name: str, command: Command) -> None:
    takes_run = [
        action for action in actions(command) if not action.option_strings and "latest" in (action.help or "")
    ]
    assert bool(takes_run) == (name in TAKES_RUN)
    if takes_run:
        assert any("--dir" in action.option_strings for action in actions(command))


def test_every_exit_status_has_a_meaning() -> None:
    values = {value for name, value in vars(cli).items() if name.isupper() and isinstance(value, int)}
    assert values == set(MEANING_OF)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "sook",
            "kafkacheck: argument COMMAND: 'sook' is not known; did you mean 'soak'?; see kafkacheck --help",
        ),
        ("ls --jsn", "kafkacheck ls: unrecognized arguments: --jsn; did you mean '--json'?"),
        ("cluster up --broker=3 --nme=x", "did you mean '--name'"),
        ("cluster upp", "kafkacheck cluster: argument ACTION: 'upp' is not known; did you mean 'up'?"),
        ("completion ksh", "'ksh' is not known; did you mean 'zsh'"),
        ("run", "kafkacheck run: the following arguments are required: FILE; see kafkacheck run --help"),
    ],
)
def test_what_is_not_known_comes_with_what_was_probably_meant(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(line.split())
    assert ended.value.code == cli.USAGE
    (text,) = capsys.readouterr().err.splitlines()
    assert said in text


def test_without_a_command_five_are_shown_and_how_to_see_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == cli.USAGE
    *_, last = lines = capsys.readouterr().out.splitlines()
    helps = {each.name: each.help for each in discover("pytest_kafkacheck.cli")}
    shown = [line.split(maxsplit=2) for line in lines if line.startswith("  ")]
    assert len(shown) == 5
    assert all(program == "kafkacheck" and helps[name] == text for program, name, text in shown)
    assert "kafkacheck --help" in last
