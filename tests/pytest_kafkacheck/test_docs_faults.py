"""The documents list every fault with its options, and their examples can be executed."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path

import pytest

import pytest_kafkacheck
from nemesis.registry import FAULTS, FUNCTIONS
from nemesis.schedule import event_from_json
from nemesis.targets import Target
from nemesis.triggers import Trigger

ROOT = Path(__file__).parents[2]
CATALOGUE = (ROOT / "docs" / "faults.md").read_text()
DOCUMENTS = ("README.md", "docs/anomalies.md", "docs/experiments.md", "docs/faults.md", "docs/soak.md")

FUNCTION = re.compile(r"^\| `(\w+)(\([^`]*\))?`(, momentary)? \|", re.MULTILINE)
"""The first cell of a row of the catalogue."""


def blocks(language: str) -> list[object]:
    found = []
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 2
            found.append(pytest.param(document, line, match[1], id=f"{document}:{line}"))
    return found


def rows() -> dict[str, tuple[str, bool]]:
    """Function to the brackets behind its name in the catalogue, and whether it is marked as momentary."""
    begin, end = CATALOGUE.index("\n## Catalogue\n"), CATALOGUE.index("\n## Targets\n")
    return {
        match[1]: (match[2] or "()", bool(match[3])) for match in FUNCTION.finditer(CATALOGUE, begin, end)
    }


def test_the_catalogue_has_a_row_for_every_public_function_and_no_other() -> None:
    assert sorted(rows()) == sorted(FUNCTIONS)
    assert set(FUNCTIONS) <= set(pytest_kafkacheck.__all__)


def test_the_name_of_every_fault_in_json_is_listed() -> None:
    listed = CATALOGUE[CATALOGUE.index("\n## As JSON\n") :]
    assert not [name for name in FAULTS if f"`{name}`" not in listed]


def test_own_options_and_their_defaults_are_listed() -> None:
    for name, (brackets, is_momentary) in rows().items():
        parameters = inspect.signature(FUNCTIONS[name]).parameters
        call = ast.parse(f"{name}{re.sub(r'=(?=[,)])', '=None', brackets)}", mode="eval").body
        assert isinstance(call, ast.Call)
        listed = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        own = {
            key: each.default
            for key, each in parameters.items()
            if each.kind is each.KEYWORD_ONLY and key not in ("at", "lasting", "after")
        }
        assert listed == own, name
        assert is_momentary == ("lasting" not in parameters), name


def test_targets_and_triggers_of_the_tables_can_be_parsed() -> None:
    def first_cells(heading: str) -> list[str]:
        section = CATALOGUE[CATALOGUE.index(f"\n## {heading}\n") :].split("\n## ")[1]
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        return [text.strip('"') for cell in cells for text in re.findall(r"`([^`]+)`", cell)]

    targets, triggers = first_cells("Targets"), first_cells("When")
    assert len(targets) > 25
    assert triggers
    for text in targets:
        Target.parse(re.sub(r"<\w+>", "1", text))
    for text in triggers:
        Trigger.parse(re.sub(r"<\w+>", "1", text))


@pytest.mark.parametrize(("document", "line", "code"), blocks("python"))
def test_examples_in_python_can_be_executed(document: str, line: int, code: str) -> None:
    assert "from pytest_kafkacheck import" in code
    exec(compile("\n" * (line - 1) + code, document, "exec"), {"__name__": "example"})


@pytest.mark.parametrize(("document", "line", "text"), blocks("json"))
def test_examples_in_json_are_events(document: str, line: int, text: str) -> None:
    data = json.loads(text)
    assert event_from_json(data).to_json() == data, f"{document}:{line}"
