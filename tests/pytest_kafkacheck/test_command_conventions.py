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


def test_every_option_has_help() -> None:
    without = [
        (name, action.dest) for name, command in commands() for action in actions(command) if not action.help
    ]
    assert not without


def test_help_has_examples_and_each_is_accepted_by_the_parser(capsys: pytest.CaptureFixture[str]) -> None:
    parser = cli.parser()
    for name, command in commands():
        assert command.examples, f"kafkacheck {name}: no examples"
        with pytest.raises(SystemExit):
            parser.parse_args([*name.split(), "--help"])
        text = capsys.readouterr().out
        assert "\nexamples:\n" in text, name
        for example in command.examples:
            assert f"\n  {example}\n" in text, f"a terminal folds {example}"
            program, *arguments = shlex.split(example.partition(" > ")[0])
            assert program == "kafkacheck", example
            assert parser.parse_args(arguments).command is command, example


def test_results_can_be_had_as_json() -> None:
    for name, command in commands():
        found = [action for action in actions(command) if "--json" in action.option_strings]
        assert bool(found) == (name not in WITHOUT_RESULTS), name
        assert {(each.metavar, each.nargs, each.const) for each in found} <= {("OUT", "?", "-")}, name


def test_a_run_is_named_in_the_same_ways_everywhere() -> None:
    for name, command in commands():
        takes_run = [
            action
            for action in actions(command)
            if not action.option_strings and "latest" in (action.help or "")
        ]
        assert bool(takes_run) == (name in TAKES_RUN), name
        if takes_run:
            assert any("--dir" in action.option_strings for action in actions(command)), name


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
