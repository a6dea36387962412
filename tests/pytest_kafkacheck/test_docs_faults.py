"""The documents name every fault, with the options it has, and their examples are examples of what there is."""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path

import pytest

import pytest_kafkacheck
from nemesis import api
from nemesis.faults import FAULTS
from nemesis.schedule import Event
from nemesis.targets import Target
from nemesis.triggers import Trigger

ROOT = Path(__file__).parents[2]
CATALOGUE = (ROOT / "docs" / "faults.md").read_text()
DOCUMENTS = ("README.md", "docs/anomalies.md", "docs/faults.md", "docs/replay.md")

FUNCTION = re.compile(r"^\| `(\w+)(\([^`]*\))?`", re.MULTILINE)
"""The first cell of a row of the catalogue."""


def blocks(language: str) -> list[object]:
    found = []
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 2
            found.append(pytest.param(document, line, match[1], id=f"{document}:{line}"))
    return found


def rows() -> dict[str, str]:
    """Function to what stands behind its name in brackets, of the catalogue's tables."""
    begin, end = CATALOGUE.index("\n## Catalogue\n"), CATALOGUE.index("\n## Targets\n")
    return {match[1]: match[2] or "()" for match in FUNCTION.finditer(CATALOGUE, begin, end)}


def test_the_catalogue_has_a_row_for_every_function_and_no_other() -> None:
    assert sorted(rows()) == sorted(pytest_kafkacheck._FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_every_name_of_a_fault_in_json_is_named(name: str) -> None:
    assert f"`{name}`" in CATALOGUE[CATALOGUE.index("\n## As JSON\n") :]


@pytest.mark.parametrize("name", sorted(pytest_kafkacheck._FAULTS))
def test_its_own_options_and_their_defaults_are_named(name: str) -> None:
    parameters = inspect.signature(getattr(api, name)).parameters
    call = ast.parse(f"{name}{re.sub(r'=(?=[,)])', '=None', rows()[name])}", mode="eval").body
    assert isinstance(call, ast.Call)
    told = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    own = {
        key: each.default
        for key, each in parameters.items()
        if each.kind is each.KEYWORD_ONLY and key not in ("at", "lasting", "after")
    }
    assert told == own


@pytest.mark.parametrize("name", sorted(pytest_kafkacheck._FAULTS))
def test_what_is_over_when_it_has_happened_is_marked(name: str) -> None:
    row = next(line for line in CATALOGUE.splitlines() if re.match(rf"\| `{name}[`(]", line))
    momentary = "lasting" not in inspect.signature(getattr(api, name)).parameters
    assert (", momentary |" in row) == momentary


@pytest.mark.parametrize("name", sorted(pytest_kafkacheck._FAULTS))
def test_the_readme_names_it(name: str) -> None:
    readme = (ROOT / "README.md").read_text()
    assert f"`{name}`" in readme[readme.index("\n## Faults\n") : readme.index("\n## Anomalies\n")]


def test_targets_and_triggers_of_the_tables_can_be_parsed() -> None:
    def first_cells(heading: str) -> list[str]:
        section = CATALOGUE[CATALOGUE.index(f"\n## {heading}\n") :].split("\n## ")[1]
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        return [text.strip('"') for cell in cells for text in re.findall(r"`([^`]+)`", cell)]

    targets, triggers = first_cells("Targets"), first_cells("When")
    assert len(targets) > 25
    assert len(triggers) == 7
    for text in targets:
        Target.parse(re.sub(r"<\w+>", "1", text))
    for text in triggers:
        Trigger.parse(re.sub(r"<\w+>", "1", text))


@pytest.mark.parametrize(("document", "line", "code"), blocks("python"))
def test_python_makes_what_it_says(document: str, line: int, code: str) -> None:
    assert "from pytest_kafkacheck import" in code
    exec(compile("\n" * (line - 1) + code, document, "exec"), {"__name__": "example"})


@pytest.mark.parametrize(("document", "line", "text"), blocks("json"))
def test_json_is_an_event(document: str, line: int, text: str) -> None:
    data = json.loads(text)
    assert Event.from_json(data).to_json() == data, f"{document}:{line}"
