"""Times relative to a fault, in the story and in the time line of `kafkacheck explain`."""

from __future__ import annotations

from analyzers.causes.story import story
from analyzers.causes.words import fault_steps
from analyzers.explain.overview import timeline
from analyzers.history.fault_events import FaultEvent, Stage
from analyzers.verdict.cause import NOT_DETERMINED, Cause, Step
from analyzers.verdict.finding import Finding
from analyzers.verdict.since_fault import since_fault
from analyzers.verdict.verdict import judge
from analyzers.verdict.wording import TimeScale
from pytest_kafkacheck.cli.common.explanation import time_line
from tests.support.cause_evidence import evidence

STEPS = (
    Step(time=1.0, text="the first write"),
    Step(time=2.0, text="broker 1 is cut off", is_fault=True),
    Step(time=5.52, text="broker 2 leads"),
    Step(time=11.9, text="broker 2 is killed", is_fault=True),
    Step(time=1234.5, text="broker 2 is started again"),
    Step(time=None, text="at some time"),
)


def story_lines(*steps: Step) -> list[str]:
    cause = Cause(kind=NOT_DETERMINED, findings={"lost-write": 1}, steps=steps)
    found = Finding(anomaly="lost-write", count=1, summary="of lost-write")
    return story(judge("r", findings=[found], causes=[cause])).splitlines()


def test_times_are_counted_from_the_nearest_fault_above() -> None:
    assert [*since_fault(STEPS, TimeScale())] == ["", "fault", "+3.5 s", "fault", "+1,222.6 s", ""]
    fault_at_some_time = Step(time=None, text="broker 1 is cut off", is_fault=True)
    assert [*since_fault([fault_at_some_time, STEPS[2]], TimeScale())] == ["fault", ""]


def test_the_times_that_are_shown_add_up() -> None:
    """5.84 s and 9.36 s are 3.52 s apart; shown are 5.8 s and 9.4 s."""
    steps = (Step(time=5.84, text="", is_fault=True), Step(time=9.36, text=""))
    assert [*since_fault(steps, TimeScale())] == ["fault", "+3.6 s"]


def test_the_story_has_both_times() -> None:
    assert story_lines(*STEPS)[1:7] == [
        "    1.0 s              the first write",
        "    2.0 s       fault  broker 1 is cut off",
        "    5.5 s      +3.5 s  broker 2 leads",
        "   11.9 s       fault  broker 2 is killed",
        "1,234.5 s  +1,222.6 s  broker 2 is started again",
        "                       at some time",
    ]


def test_the_story_of_a_run_without_faults_has_one_time() -> None:
    assert story_lines(STEPS[0], STEPS[2])[1:3] == ["   1.0 s  the first write", "   5.5 s  broker 2 leads"]


def test_the_fault_that_is_counted_from_may_stand_last() -> None:
    assert story_lines(STEPS[0], STEPS[1])[1:3] == [
        "   1.0 s         the first write",
        "   2.0 s  fault  broker 1 is cut off",
    ]


def test_only_the_begin_of_a_fault_is_counted_from() -> None:
    stage = {"effective": True, "target": "1", "nodes": (1,)}
    inject, heal = Stage(invoked=1, completed=2, **stage), Stage(invoked=3, completed=4, **stage)
    event = FaultEvent(event="e", fault="kill", inject=inject, heal=heal)
    assert [step.is_fault for step in fault_steps([event], evidence())] == [True, False]


def test_the_time_line_has_the_same_times() -> None:
    cause = Cause(kind="truncation", logs=("t-0",), steps=STEPS[:3])
    moments, _ = timeline(cause, {}, None)
    headings, rows = time_line(moments)
    assert headings == ("s", "since fault", "who", "what")
    assert rows == [
        ("1.0", "", "history", "the first write"),
        ("2.0", "fault", "history", "broker 1 is cut off"),
        ("5.5", "+3.5 s", "history", "broker 2 leads"),
    ]
    moments, _ = timeline(Cause(kind="truncation", steps=STEPS[:1]), {}, None)
    assert time_line(moments) == (("s", "who", "what"), [("1.0", "history", "the first write")])


def test_a_stored_step_of_an_earlier_version_is_no_fault() -> None:
    data = {
        "kind": "unknown", "logs": [], "findings": {}, "circumstances": [], "faults": [], "cuts": [],
        "election": None, "steps": [{"time": 1.0, "text": "something"}],
    }  # fmt: skip
    assert Cause.from_data(data).steps == (Step(time=1.0, text="something"),)
