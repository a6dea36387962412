"""Every block of the documentation is of a kind that is tested, or that is not for the reason that stands here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nemesis.schedule import Schedule
from tests.docs.markdown import PAGES, Block, blocks

KINDS = {
    "python": "runs up to its cluster: test_python_blocks.py",
    "py": "a program, generated from its file: test_generated.py; tests/cluster/test_pipeline.py runs it",
    "": "command lines: test_command_blocks.py parses them, and runs those that need neither a cluster nor a run",
    "json": "is parsed here; tests/spark/test_json_lines.py judges the history of json_lines.md",
    "yaml": "is generated: test_generated.py; tests/acceptance/test_ci_files.py runs the steps of its jobs",
    "text": "not run: the output of one real run on real brokers, whose ids, times and numbers differ each time",
}
"""By language: where its blocks are tested."""

FOUND = [each for page in PAGES for each in blocks(page)]
IN_JSON = [each for each in FOUND if each.language == "json"]


def test_every_block_is_of_a_kind_that_is_tested_or_has_a_reason() -> None:
    assert {each.language for each in FOUND} == KINDS.keys()


def test_what_is_not_python_to_run_is_generated_or_output() -> None:
    """A program or a job that nobody generates could go stale."""
    whole = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    for each in FOUND:
        if each.language in ("py", "yaml"):
            before = whole[each.page].partition(each.text)[0]
            opened, closed = before.count("<!-- generated: "), before.count("<!-- end: ")
            assert opened > closed, f"{each} is not in a generated part"


@pytest.mark.parametrize("block", IN_JSON, ids=str)
def test_json_is_valid(block: Block) -> None:
    """One value per line, or one that takes several lines."""
    lines = block.text.splitlines()
    values, start = [], 0
    for end in range(1, len(lines) + 1):
        try:
            values.append(json.loads("\n".join(lines[start:end])))
        except json.JSONDecodeError:
            continue
        start = end
    assert values
    assert start == len(lines), f"no JSON from line {block.line + start} on"


def test_the_event_of_the_page_of_faults_is_one() -> None:
    (block,) = [each for each in IN_JSON if each.page == "faults.md"]
    (event,) = Schedule.from_json([json.loads(block.text)]).events
    assert (event.id, event.fault.name) == ("partition-0", "partition")


def test_each_test_that_is_named_exists() -> None:
    root = Path(__file__).parents[2]
    for reason in KINDS.values():
        for word in reason.replace(";", " ").replace(",", " ").split():
            if word.endswith(".py"):
                assert (root / word).exists() or (root / "tests" / "docs" / word).exists(), word
