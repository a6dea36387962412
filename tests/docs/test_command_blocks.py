"""Command lines of kafkacheck in the documentation name commands and options that exist.

A whole command line is parsed as the program would parse it. Of a line in the notation of usage, such as
``kafkacheck report RUN [-o FILE]``, the command and the names of its options are compared. Commands that need
neither a cluster nor a run are carried out (`CHEAP`); others are not run here: they need Docker, brokers or runs.
Lines of other programs are searched for options of the plugin only.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_kafkacheck.cli.exit_status import INTERRUPTED, MEANING_OF, USAGE
from pytest_kafkacheck.cli.main import main, parser
from tests.docs.markdown import PAGES, blocks, prose

SHELL = ("", "sh", "text")
CODE = re.compile(r"`(kafkacheck [^`]+)`")
"""A command in the text."""
COMMAND = re.compile(r"kafkacheck [a-z-]+")
NOTATION = re.compile(r"[\[\]|…]|\.\.\.| [A-Z]+\b| --[a-z-]+$")
"""Of usage: choices, repetitions, names in capitals that stand for values, and an option that is only named."""
OF_THE_SHELL = re.compile(r" +# .*| > .*")
CHEAP = re.compile(r"kafkacheck (audit --replication(?!.*--prove)|completion|init)")


def _lines(page: Path) -> Iterator[str]:
    for block in blocks(page):
        if block.language in SHELL:
            yield from block.text.replace("\\\n", " ").splitlines()
    yield from (line.replace("\n", " ") for line in CODE.findall(prose(page)))


def _commands(page: Path) -> Iterator[str]:
    for line in _lines(page):
        for part in OF_THE_SHELL.sub("", line).split(" && "):
            if COMMAND.match(part.strip()):
                yield part.strip()


def _subparser(words: list[str]) -> argparse.ArgumentParser | None:
    """Of the command that the words begin with; None where there is none."""
    found = parser()
    for word in words:
        actions = [each for each in found._actions if isinstance(each, argparse._SubParsersAction)]
        if not actions or word.startswith("-"):
            return found
        if word not in actions[0].choices:
            return None
        found = actions[0].choices[word]
    return found


def _problem(line: str) -> str:
    """What is wrong with a command line; empty for nothing."""
    words = [word for word in re.sub(r"[\[\]]", " ", line).split()[1:] if word != "..."]
    if NOTATION.search(line) and "|" in words:
        first = " ".join(words).split(" | ")[0].split()
        return "" if _subparser(first[:1]) else f"no command {first[0]}"
    sub = _subparser(words)
    if sub is None:
        return f"no command {' '.join(words[:2])}"
    names_only_the_command = line == sub.prog
    if not names_only_the_command and not NOTATION.search(line):
        try:
            parser().parse_args(shlex.split(line)[1:])
        except SystemExit as ended:
            return "is not accepted" if ended.code else ""
        return ""
    known = {option for action in sub._actions for option in action.option_strings} | {"--help"}
    named = {word for word in words if re.fullmatch(r"-[a-z]|--[a-z][\w-]*", word)}
    return f"no option {named - known}" if named - known else ""


def test_commands_and_their_options_exist() -> None:
    lines = dict.fromkeys((page.name, line) for page in PAGES for line in _commands(page))
    assert not {each: problem for each in lines if (problem := _problem(each[1]))}


CHEAP_LINES = dict.fromkeys(
    line for page in PAGES for line in _commands(page) if CHEAP.match(line) and not NOTATION.search(line)
)


@pytest.mark.parametrize("line", CHEAP_LINES, ids=lambda line: line)
def test_cheap_commands_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)[1:]) in MEANING_OF.keys() - {USAGE, INTERRUPTED}


def test_options_of_the_plugin_exist(pytestconfig: pytest.Config) -> None:
    for option in {
        each for page in PAGES for each in re.findall(r"--kafkacheck-[a-z-]*[a-z]", page.read_text())
    }:
        pytestconfig.getoption(option)  # raises for one that does not exist


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("kafkacheck report latest -o page.html", ""),
        ("kafkacheck report RUN [-o FILE] [--md]", ""),
        ("kafkacheck report RUN [--pdf]", "no option {'--pdf'}"),
        ("kafkacheck report latest --pdf", "no option {'--pdf'}"),
        ("kafkacheck report --pdf latest", "is not accepted"),
        ("kafkacheck ls --dir", ""),
        ("kafkacheck cluster up --name mine", ""),
        ("kafkacheck cluster sleep", "no command cluster sleep"),
        ("kafkacheck ls | show RUN", ""),
    ],
)
def test_what_does_not_exist_is_found(line: str, problem: str) -> None:
    assert _problem(line) == problem
