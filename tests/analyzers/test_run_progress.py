"""How a run went, from the operations of the harness. Needs no JVM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzers.history.run_progress import PHASES, RunProgress

Noted = tuple[str, dict[str, Any]]


def progress(*rows: Noted, topic: str | None = None) -> RunProgress:
    of_run = RunProgress()
    for f, value in rows:
        of_run.note(f, json.dumps(value), (topic, None))
    return of_run


def phases(*names: str) -> list[Noted]:
    return [("phase", {"phase": name}) for name in names]


def doubts(*rows: Noted, topic: str | None = None) -> list[str]:
    """Of a run that has all of its phases."""
    return [*progress(*phases(*PHASES), *rows, topic=topic).doubts()]


def topic(event: str, number: str | None) -> Noted:
    return "topic", {"event": event, "id": number, "config": {}}


@pytest.mark.parametrize(
    ("ids", "is_replaced"),
    [
        ([("created", "A"), ("deleted", "B")], True),
        ([("created", "A"), ("deleted", "A")], False),
        ([("created", "A")], False),
        ([("created", None), ("deleted", "B")], False),
        ([("created", "A"), ("deleted", None)], False),
        ([("created", ""), ("deleted", "B")], False),
        ([("created", "A"), ("deleted", "")], False),
        ([("created", "A"), ("deleted", "A"), ("recreated", "B"), ("deleted", "B")], False),
        # A broker that lags may have described the old topic.
        ([("created", "A"), ("deleted", "A"), ("recreated", "A"), ("deleted", "B")], False),
        ([("created", "A"), ("deleted", "A"), ("created", "B"), ("deleted", "B")], False),
    ],
)  # fmt: skip
def test_a_topic_with_another_id_was_made_again_by_another_program(
    ids: list[tuple[str, str | None]], is_replaced: bool
) -> None:
    sentence = (
        "Topic t has the id B at the end, and had A when the run created it: another program deleted it and created "
        "it again, so records of two topics may be mixed."
    )
    found = doubts(*(topic(event, number) for event, number in ids), topic="t")
    assert found == ([sentence] if is_replaced else [])


def test_topics_are_told_apart_by_their_names() -> None:
    of_run = progress(*phases(*PHASES))
    for name, event, number in (("t", "created", "A"), ("u", "created", "B"), ("u", "deleted", "B")):
        f, value = topic(event, number)
        of_run.note(f, json.dumps(value), (name, None))
    assert not [*of_run.doubts()]
