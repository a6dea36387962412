"""How a story tells several causes. Needs no JVM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzers.causes.story import story
from analyzers.verdict.exercised import Exercised, FaultExercised, ReaderExercised
from analyzers.verdict.finding import Cause, Finding, Step
from analyzers.verdict.verdict import judge


def finding(anomaly: str) -> Finding:
    return Finding(anomaly=anomaly, count=5, summary=f"of {anomaly}")


def cause(kind: str, *anomalies: str, steps: int = 0, time: float | None = 1.0) -> Cause:
    return Cause(
        kind=kind,
        changes="setting",
        findings=dict.fromkeys(anomalies, 4),
        steps=(Step(time=time, text="something"),) * steps,
    )


def test_the_settings_that_decide_are_told_as_far_as_they_are_known() -> None:
    found = [finding("lost-write"), finding("duplicate"), finding("unfenced-commit")]
    causes = [
        replace(cause("acks=1", "lost-write"), settings={"acks": "1"}, unrecorded=("min.insync.replicas",)),
        replace(cause("b", "duplicate"), unrecorded=("acks", "enable.idempotence")),
    ]
    lines = story(judge("r", findings=found, causes=causes)).splitlines()
    assert [line for line in lines if line.startswith("   with")] == [
        "   with   acks=1; not recorded: min.insync.replicas",
        "   with   not recorded: acks, enable.idempotence",
    ]
    assert "   with" not in story(judge("r", findings=found, causes=[cause("c", "unfenced-commit")]))


def test_two_causes_are_told_without_a_remark_on_others() -> None:
    names = ("lost-write", "duplicate")
    causes = [replace(cause("a", "lost-write"), why="this", change="that"), cause("b", "duplicate")]
    lines = story(judge("r", findings=[*map(finding, names)], causes=causes)).splitlines()
    assert lines[1:] == [
        "          → 4 of lost-write",
        "   why    this",
        "   try    that",
        "          → 4 of duplicate",
    ]


def test_a_cause_of_what_was_allowed_is_not_told() -> None:
    causes = [cause("duplicate delivery", "duplicate"), cause("truncation", "lost-write")]
    lines = story(judge("r", findings=[finding("lost-write")], causes=causes)).splitlines()
    assert [line for line in lines if "→" in line] == ["          → 4 of lost-write"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("truncation", "the same truncation also shows as: monotonic-reads 4"),
        ("two leaders", "also: monotonic-reads 4"),
    ],
)
def test_other_findings_of_a_cause_are_named(kind: str, text: str) -> None:
    found = [finding("lost-write"), finding("monotonic-reads")]
    of = cause(kind, *(each.anomaly for each in found))
    lines = story(judge("r", findings=found, causes=[of])).splitlines()
    assert lines[2] == f"          {text}"


@pytest.mark.parametrize(
    ("kind", "others", "unknowns", "told"),
    [
        ("follower reads", [], [], True),
        ("follower reads", ["lost-write"], [], False),
        ("follower reads", [], ["The final read of t-0 is missing."], False),
        ("truncation", [], [], False),
    ],
)
def test_late_reads_are_told_from_losses(
    kind: str, others: list[str], unknowns: list[str], told: bool
) -> None:
    found = [finding("read-your-writes"), *map(finding, others)]
    text = story(judge("r", findings=found, unknowns=unknowns, causes=[cause(kind, "read-your-writes")]))
    assert ("they were late, not lost" in text) is told


@pytest.mark.parametrize("steps", [8, 9])
def test_eight_steps_are_told(steps: int) -> None:
    found = [finding("lost-write")]
    untimed = story(
        judge("r", findings=found, causes=[cause("truncation", "lost-write", steps=steps, time=None)])
    )
    assert untimed.splitlines()[1:9] == ["          something"] * 8
    assert ("... and 1 more step\n" in untimed) is (steps == 9)
    assert "more step" not in untimed.replace("... and 1 more step\n", "")


def test_five_reasons_are_told() -> None:
    lines = story(judge("r", unknowns=[f"Reason {number}." for number in range(5)])).splitlines()
    assert lines[-1] == "          Reason 4."


def test_a_valid_verdict_says_what_was_not_exercised() -> None:
    plain = story(judge("r"), name="a_valid_test")
    assert plain == "VALID  0 acked  no faults   a_valid_test   run r"
    reader = ReaderExercised(process=3, polls=1, behind=("t-0",))
    named = FaultExercised(
        event="e", fault="invalidate", target="1", effective=True, healed=True, acks_during=1
    )
    missing = judge("r", exercised=Exercised(sends={"ok": 3}, readers=(reader,), faults=(named,)))
    first, second = story(missing).splitlines()
    assert first.startswith("VALID  3 acked  invalidate")
    assert second == "   but    not exercised: " + ", ".join(missing.not_exercised)
    assert missing.not_exercised
