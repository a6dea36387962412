"""The short texts of a verdict: one line, the headline, the story and its times relative to a fault. No JVM."""

from __future__ import annotations

import json

import pytest

from analyzers.catalogue.registry import ANOMALIES
from analyzers.causes.story import since_fault, story
from analyzers.causes.words import fault_steps
from analyzers.explain.overview import timeline
from analyzers.history.fault_events import FaultEvent, Stage
from analyzers.history.surroundings import Unit
from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import NOT_DETERMINED, Cause, Finding, Step
from analyzers.verdict.measures import Availability, LogAvailability
from analyzers.verdict.summary import one_line
from analyzers.verdict.verdict import Verdict, judge
from analyzers.verdict.wording import (
    TimeScale,
    client_name,
    client_names,
    ordinal,
    scale_of,
    seconds,
    write_name,
)
from pytest_kafkacheck.cli.common.explanation import time_line
from tests.support.cause_evidence import evidence


def finding(anomaly: str, count: int, *, allowed: bool = False) -> Finding:
    return Finding(anomaly=anomaly, count=count, summary=f"of {anomaly}", allowed=allowed)


def fault(*, healed: bool) -> FaultExercised:
    return FaultExercised(event="e", fault="isolate", target="leader", effective=True, healed=healed)


def test_the_headline_names_the_anomalies_that_decide() -> None:
    found = [finding("lost-write", 3623), finding("unseen", 2), finding("duplicate", 1, allowed=True)]
    verdict = judge("afd28129", findings=found, unknowns=["Why."])
    assert verdict.headline() == "INVALID lost-write ×3,623 (run afd28129)"
    names = (
        "lost-write",
        "offset-reuse",
        "duplicate",
        "realtime-order",
        "monotonic-writes",
        "torn-transaction",
    )
    many = judge("r", findings=[finding(name, 1) for name in names])
    assert many.headline().endswith("×1 and 2 others (run r)")


def test_the_headline_of_an_unknown_verdict_gives_the_reason() -> None:
    verdict = judge("r", findings=[finding("unseen", 2)], unknowns=["One thing.", "Another."])
    assert verdict.headline() == "UNKNOWN unseen ×2; One thing and 1 more reason (run r)"
    assert judge("r", unknowns=["One thing."]).headline() == "UNKNOWN One thing (run r)"
    assert judge("r").headline() == "VALID (run r)"


def test_one_line_says_what_a_run_showed() -> None:
    verdict = judge(
        "r",
        exercised=Exercised(
            sends={"ok": 31951}, faults=(fault(healed=True), fault(healed=False)), leader_changes=1
        ),
        availability=Availability(logs=(LogAvailability(topic="t", partition=0, longest_wait=3.04),)),
    )
    assert one_line(verdict) == "valid  31,951 acked  isolate ✓  isolate ✗  1 election  longest wait 3.0 s"
    assert one_line(judge("r")) == "valid  0 acked  no faults"
    assert story(verdict, name="test_it").startswith("VALID  31,951 acked  isolate ✓")


def test_the_story_of_a_valid_run_names_what_is_allowed() -> None:
    allowed = [finding("duplicate", 3623, allowed=True), finding("nonmonotonic-send", 8, allowed=True)]
    lines = [
        "VALID  0 acked  no faults   run r",
        "   seen   duplicate ×3,623, nonmonotonic-send ×8 (allowed)",
    ]
    assert story(judge("r", findings=allowed)).splitlines() == lines
    assert story(judge("r", findings=[finding("G0", 2)])).splitlines() == lines[:1]


def test_a_story_omits_what_was_not_judged() -> None:
    found = [finding("lost-write", 3), finding("duplicate", 1, allowed=True), finding("int-send-skip", 1)]
    assert story(judge("r", findings=found), name="test_it").splitlines() == [
        "INVALID  lost-write ×3   test_it   run r",
        "          3 of lost-write",
    ]


def test_the_story_of_an_unknown_verdict_gives_the_first_reasons() -> None:
    lines = story(judge("r", unknowns=[f"Reason {number}." for number in range(7)])).splitlines()
    assert lines == [
        "UNKNOWN   run r",
        "   unknown",
        *(f"          Reason {number}." for number in range(5)),
        "          ... and 2 more",
    ]


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "0.0 s"), (4.81, "4.8 s"), (0.0031, "3 ms"), (0.0004, "below 1 ms"), (1234.5, "1,234.5 s")],
)
def test_times_have_one_decimal(time: float, text: str) -> None:
    assert seconds(time) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (7121, "7,121st")],
)
def test_ordinals(number: int, text: str) -> None:
    assert ordinal(number) == text


def test_clients_are_numbered_within_their_role() -> None:
    names = client_names({7: "producer", 2: "reader", 0: "producer"})
    assert names == {0: "producer 0", 2: "reader 0", 7: "producer 1"}
    assert write_name(7 << 40 | 7115, names) == "producer 1's 7,116th write"
    assert client_name(9, names) == "process 9"


def test_an_invalid_story_leaves_most_doubts_to_the_details() -> None:
    verdict = judge("r", findings=[finding("lost-write", 3)], unknowns=["One.", "Two.", "Three."])
    assert story(verdict).splitlines()[-3:] == [
        "          One.",
        "          Two.",
        "          ... and 1 more",
    ]


def test_findings_of_an_unknown_cause_may_be_unrelated() -> None:
    names = ("lost-write", "duplicate", "unseen", "foreign-record", "G1a")
    unknown = Cause(kind=NOT_DETERMINED, findings=dict.fromkeys(names, 5))
    found = [finding(name, 5) for name in names if name != "unseen"]
    lines = story(judge("r", findings=[*found, finding("expired", 1)], causes=[unknown])).splitlines()
    assert lines[1:5] == [
        *(f"          → 5 of {name}" for name in ("lost-write", "duplicate", "G1a")),
        "          also: foreign-record 5",
    ]


def test_without_a_cause_the_story_says_where_to_look_for_that_of_the_gravest_finding() -> None:
    names = ("duplicate", "lost-write")
    unknown = Cause(kind=NOT_DETERMINED, findings=dict.fromkeys(names, 5))
    lines = story(judge("r", findings=[finding(name, 5) for name in names], causes=[unknown])).splitlines()
    assert lines[-1] == f"   look   {ANOMALIES['lost-write'].look_further}"


def test_a_torn_transaction_has_a_sentence_whatever_led_to_it() -> None:
    names = ("lost-write", "realtime-order", "torn-transaction")
    cut = Cause(kind="truncation", findings=dict.fromkeys(names, 5))
    lines = story(judge("r", findings=[finding(name, 5) for name in names], causes=[cut])).splitlines()
    assert lines[1:4] == [
        "          → 5 of lost-write",
        "          → 5 of torn-transaction",
        "          the same truncation also shows as: realtime-order 5",
    ]


def test_a_cause_of_what_is_allowed_is_left_out() -> None:
    causes = [
        Cause(kind=name, changes="setting", why=f"why {name}", findings={name: 5})
        for name in ("duplicate", "lost-write")
    ]
    found = [finding("lost-write", 5), finding("duplicate", 5, allowed=True)]
    lines = story(judge("r", findings=found, causes=causes)).splitlines()
    assert [line for line in lines if "→" in line or "why" in line] == lines[1:]
    assert len(lines) == 3


def test_the_isr_is_explained_where_it_is_first_read() -> None:
    steps = (
        Step(time=1.0, text="ISR {1}: broker 1 is alone"),
        Step(time=2.0, text="ISR {1, 2}, and no DISR"),
    )
    cause = Cause(kind="truncation", findings={"lost-write": 3}, steps=steps)
    told = story(judge("r", findings=[finding("lost-write", 3)], causes=[cause]))
    assert [line.split(" s  ")[-1] for line in told.splitlines()[1:3]] == [
        "in-sync replicas (ISR) {1}: broker 1 is alone",
        "ISR {1, 2}, and no DISR",
    ]


def test_the_story_fits_on_a_screen_however_much_happened() -> None:
    """The first cause with its steps, the second one without, the others counted."""
    names = ("lost-write", "duplicate", "foreign-record")
    kinds = ("truncation", "duplicate delivery", "unknown")
    steps = tuple(Step(time=float(second), text=f"step {second}") for second in range(20))
    told = [
        Cause(kind=kind, changes="setting", why="why", findings={name: 5}, steps=steps)
        for kind, name in zip(kinds, names, strict=True)
    ]
    verdict = judge("r", findings=[finding(name, 5) for name in names], causes=told)
    lines = story(verdict).splitlines()
    assert len(lines) == 15
    assert lines[1:3] == ["   0.0 s  step 0", "   1.0 s  step 1"]
    assert "          ... and 12 more steps" in lines
    assert lines[-1] == "          ... and 1 more cause"
    assert "          → 5 of duplicate" in lines


@pytest.mark.parametrize(
    ("times", "unit", "texts"),
    [
        ([0.8, 3.5, None], "s", ["0.8 s", "3.5 s"]),
        ([2.0, 2.05], "s", ["2.00 s", "2.05 s"]),
        ([2.0, 2.05, 3.0], "s", ["2.0 s", "2.0 s", "3.0 s"]),  # their order tells
        ([0.011, 0.0121, 0.0122], "s", ["0.011 s", "0.012 s", "0.012 s"]),  # three decimals at most
        ([2.0, 2.0], "s", ["2.0 s", "2.0 s"]),
        ([0.011, 1.5], "ms", ["11 ms", "1,500 ms"]),
        ([], "s", []),
    ],
)
def test_times_have_the_unit_of_the_file_and_can_be_told_apart(
    times: list[float | None], unit: Unit, texts: list[str]
) -> None:
    scale = scale_of(times, unit)
    assert [scale.text(time) for time in times if time is not None] == texts


def test_a_story_shows_times_in_the_unit_of_the_file() -> None:
    steps = (Step(time=0.02, text="broker 1 is killed", is_fault=True), Step(time=0.045, text="a loss"))
    cause = Cause(kind="truncation", changes="setting", findings={"lost-write": 3}, steps=steps)
    told = story(judge("r", findings=[finding("lost-write", 3)], causes=[cause], unit="ms"))
    assert told.splitlines()[1:3] == ["   20 ms   fault  broker 1 is killed", "   45 ms  +25 ms  a loss"]
    assert TimeScale("ms", 0).text(1.5) == "1,500 ms"


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
    stored = json.dumps({**json.loads(judge("r").to_json()), "causes": [data]})
    assert Verdict.from_json(stored).causes[0].steps == (Step(time=1.0, text="something"),)
