"""Every story of the project keeps all of its text when its lines are taken apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_kafkacheck.report.page import StoryLine, story_lines

STORIES = sorted((Path(__file__).parents[2] / "data" / "stories").glob("*.txt"))


@pytest.mark.parametrize("file", STORIES, ids=lambda file: file.stem)
def test_no_word_of_a_story_is_lost(file: Path) -> None:
    text = file.read_text()
    lines = story_lines(text)
    words = [
        f"{line.time and line.time + ' s'} {line.since} {line.label} {line.text}".split() for line in lines
    ]
    body = re.sub(r"^   unknown$\n", "", text.partition("\n")[2], flags=re.MULTILINE)
    assert [word for line in words for word in line if word != "unknown"] == [
        word for word in body.split() if word != "unknown"
    ]


def test_times_are_numbers_and_faults_are_known() -> None:
    lines = (
        "INVALID",
        "   5.8 s    fault  broker 3 is cut off",
        "1,010.4 s   +4.6 s  a write",
        "   why    because",
        "          → 1 write",
    )
    text = "\n".join(lines)
    fault, step, why, effect = story_lines(text)
    assert (fault.ms, fault.is_fault, fault.text) == (5800, True, "broker 3 is cut off")
    assert (step.ms, step.since, step.is_fault) == (1_010_400, "+4.6 s", False)
    assert why == StoryLine(text="because", label="why")
    assert effect == StoryLine(text="→ 1 write")


def test_each_reason_of_an_unknown_verdict_has_the_label() -> None:
    first, second = story_lines("UNKNOWN\n   unknown\n          One.\n          Two.")
    assert (first.label, first.text, second.label) == ("unknown", "One.", "unknown")
