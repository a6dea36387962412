"""Fault events, joined from the operations of the nemesis. Needs no JVM."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.history.fault_events import (
    LATE,
    FaultEvent,
    Stage,
    affected,
    fault_events,
    faults_between,
    lateness,
    parse,
)

VALUE = {"event": "kill-0", "stage": "inject", "target": "leader", "nodes": [2], "effective": True}


def row(invoked: int = 10, completed: int | None = 20, *, f: str = "kill", **more: Any) -> Any:
    return SimpleNamespace(op=7, f=f, invoked=invoked, completed=completed, value=json.dumps(VALUE | more))


def stage(invoked: int = 10, completed: int | None = 20, **more: Any) -> Stage:
    return Stage(
        **{
            "invoked": invoked,
            "completed": completed,
            "effective": True,
            "target": "leader",
            "nodes": (2,),
            **more,
        }
    )


def event(inject: Stage | None, heal: Stage | None) -> FaultEvent:
    return FaultEvent(event="kill-0", fault="kill", inject=inject, heal=heal)


def test_every_field_of_a_value_is_read() -> None:
    options = {"plane": "replication"}
    times = {"possibly": [1, 4], "surely": [2, 3]}
    full = row(stage="heal", processes=[5], active=times, planned=9, options=options, had_effect=True)
    assert parse(full) == (
        "kill-0",
        stage(processes=(5,), possibly=(1, 4), surely=(2, 3), planned=9, options=options, had_effect=True),
        "heal",
    )


def test_fields_that_earlier_versions_lack_are_empty() -> None:
    assert parse(row()) == ("kill-0", stage(), "inject")


@pytest.mark.parametrize("effective", [False, None, 1, "true"])
def test_only_true_is_effective(effective: object) -> None:
    assert parse(row(effective=effective))[1].effective is False


@pytest.mark.parametrize(
    ("target", "text"), [([[1], [2, 3]], "[[1], [2, 3]]"), (3, "3"), ("leader", "leader")]
)
def test_a_target_is_text(target: object, text: str) -> None:
    assert parse(row(target=target))[1].target == text


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"stage": "verify"}, "ValueError: stage: expected inject or heal, got 'verify'"),
        ({"nodes": 2}, "TypeError: nodes: expected a list of numbers, got 2"),
        ({"nodes": ["2"]}, "TypeError: nodes: expected a list of numbers, got ['2']"),
        ({"nodes": {}}, "TypeError: nodes: expected a list of numbers, got {}"),
        ({"processes": [True]}, "TypeError: processes: expected a list of numbers, got [True]"),
        ({"planned": 1.5}, "TypeError: planned: expected a number, got 1.5"),
        ({"active": {"surely": [1]}}, "TypeError: surely: expected a list of begin and end, got [1]"),
        ({"active": {"possibly": [1, 2, 3]}}, "TypeError: possibly: expected a list of begin and end, got [1, 2, 3]"),
        ({"active": []}, "AttributeError: 'list' object has no attribute 'get'"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_follow_the_schema_is_named(more: dict[str, Any], problem: str) -> None:
    wrong = row(**more)
    with pytest.raises(ValueError, match="does not follow the schema") as error:
        parse(wrong)
    assert str(error.value) == (
        f"operation 7 of the nemesis (kill): its value {wrong.value!r} does not follow the schema of the history "
        f"({problem})"
    )


@pytest.mark.parametrize(
    ("evidence", "instance"),
    [
        ({"met": {"moment": "revocation", "instance": "app:0"}}, "app:0"),
        ({"met": {"instance": 3}}, None),
        ({"met": 3}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_instance_at_whose_moment_a_fault_was_injected(evidence: object, instance: str | None) -> None:
    (of,) = fault_events([row(evidence=evidence)])
    assert of.aimed_at == instance
    assert event(None, stage(30, 40)).aimed_at is None


def test_stages_of_one_event_are_joined() -> None:
    rows = [
        row(10, 20),
        row(12, 22, f="pause", event="pause-0"),
        row(30, 40, stage="heal"),
        row(50, 60, stage="heal"),
    ]
    assert fault_events(rows) == (
        event(stage(10, 20), stage(30, 40)),
        FaultEvent(event="pause-0", fault="pause", inject=stage(12, 22), heal=None),
    )


@pytest.mark.parametrize(
    "of", [event(stage(10, 20), stage(30, 40)), event(stage(10, 20), None), event(None, stage(30, 40))]
)
def test_what_a_fault_acts_on_is_known_from_either_stage(of: FaultEvent) -> None:
    assert (of.target, of.nodes, of.processes, of.options) == ("leader", (2,), (), {})
    assert of.began == (10 if of.inject else None)
    assert of.ended == (40 if of.heal else None)
    assert of.name() == "kill leader (nodes 2)"


def test_the_injection_says_first_what_a_fault_acts_on() -> None:
    first = stage(target="1", nodes=(1,), processes=(4,), options={"a": 1})
    of = event(first, stage(30, 40, processes=(5,)))
    assert (of.target, of.nodes, of.processes, of.options) == ("1", (1,), (4,), {"a": 1})


def test_an_event_without_stages_acts_on_nothing() -> None:
    of = event(None, None)
    assert (of.target, of.nodes, of.processes, of.options) == ("", (), (), {})
    assert not of.active(0)
    assert not of.surely_active(0)


HEALED, OPEN, UNFINISHED = (
    event(stage(10, 20), stage(30, 40, surely=(20, 30))),
    event(stage(10, 20), None),
    event(stage(10, 20), stage(30, None)),
)


@pytest.mark.parametrize(
    ("of", "times"),
    [
        (HEALED, {9: False, 10: True, 25: True, 40: True, 41: False}),
        (OPEN, {9: False, 10: True, 99: True}),
        (UNFINISHED, {9: False, 10: True, 99: True}),
        (event(None, stage(30, 40)), {29: False, 35: False}),
    ],
)
def test_a_fault_may_be_active_from_its_injection_to_the_end_of_its_healing(
    of: FaultEvent, times: dict[int, bool]
) -> None:
    assert {time: of.active(time) for time in times} == times
    assert {time: of.active_between(time, time) for time in times} == times


@pytest.mark.parametrize(
    ("of", "times"),
    [
        (HEALED, {19: False, 20: True, 25: True, 30: True, 31: False}),
        (OPEN, {25: False}),
        (UNFINISHED, {25: False}),
    ],
)
def test_a_fault_is_certainly_active_where_its_healing_says_so(
    of: FaultEvent, times: dict[int, bool]
) -> None:
    assert {time: of.surely_active(time) for time in times} == times


def test_faults_at_a_time_are_named() -> None:
    assert faults_between([HEALED, OPEN], 50, 50) == ("kill leader (nodes 2)",)
    assert faults_between([HEALED, OPEN], 40, 40) == ("kill leader (nodes 2)",) * 2
    assert faults_between([HEALED, OPEN], 5, 5) == ()
    assert faults_between([OPEN], None, None) == ()


@pytest.mark.parametrize("since", [5, 10, 25, 40])
@pytest.mark.parametrize("time", [10, 35, 90])
def test_faults_between_two_times_are_named_in_any_order_of_them(since: int, time: int) -> None:
    """A record's timestamp may be that of another clock, so that the end seems to lie before the beginning."""
    assert faults_between([HEALED], since, time) == ("kill leader (nodes 2)",)
    assert faults_between([HEALED], time, since) == ("kill leader (nodes 2)",)


def test_of_two_times_the_known_one_counts() -> None:
    assert (
        faults_between([HEALED], None, 40) == faults_between([HEALED], 40, None) == ("kill leader (nodes 2)",)
    )
    assert faults_between([HEALED], None, 41) == faults_between([HEALED], 5, 9) == ()


def test_what_a_fault_affected_is_named() -> None:
    assert affected((1, 3), (4,)) == " (nodes 1, 3)"
    assert affected((), (4, 5)) == " (clients 4, 5)"
    assert affected((), ()) == ""
    assert affected((), (4, 5), ("app:0", "app:1"), "app") == " (app:0, app:1)"
    assert affected((), (4,), ("app:0",), "app:0") == "", "the target names it"
    assert affected((), (4,), ("member 0",), "member:0") == " (member 0)"


@pytest.mark.parametrize(
    ("target", "clients", "name"),
    [
        ("app:0", {4: "app:0"}, "kill app:0"),
        ("app", {4: "app:0"}, "kill app (app:0)"),
        ("member", {4: "member 0"}, "kill-client member (member 0)"),
        ("app", {5: "app:0"}, "kill-client app (clients 4)"),
        ("app", None, "kill-client app (clients 4)"),
    ],
)
def test_a_fault_of_an_application_has_the_name_of_the_schedule(
    target: str, clients: dict[int, str] | None, name: str
) -> None:
    (of,) = fault_events([row(f="kill-client", target=target, nodes=[], processes=[4])], clients)
    assert of.name() == name
    assert f"The fault {name.partition(' (')[0]} (" in next(of.doubts())
    (mixed,) = fault_events(
        [row(f="isolate-app", target="app", nodes=[], processes=[4, 5])], {4: "app:0", 5: "x 1"}
    )
    assert mixed.short_name() == "isolate-app app", "one of them is no instance"


NO_INJECTION = "The fault kill leader (kill-0) has no record of its injection."
NOT_INJECTED = "The fault kill leader (kill-0) did not take effect when injected, so it was not exercised."
NO_HEAL = "The fault kill leader (kill-0) has no record of its healing: the cluster may not have recovered."
NOT_HEALED = "The fault kill leader (kill-0) was not verified as healed: the cluster may not have recovered."


@pytest.mark.parametrize(
    ("of", "sentences"),
    [
        (HEALED, []),
        (event(None, stage()), [NO_INJECTION]),
        (event(stage(effective=False), stage()), [NOT_INJECTED]),
        (event(stage(effective=False), stage(had_effect=True)), []),
        (event(stage(effective=False, had_effect=True), None), [NOT_INJECTED, NO_HEAL]),
        (event(stage(), None), [NO_HEAL]),
        (event(stage(), stage(effective=False)), [NOT_HEALED]),
        (event(stage(effective=False), stage(effective=False)), [NOT_INJECTED, NOT_HEALED]),
    ],
)
def test_an_event_without_proof_is_in_doubt(of: FaultEvent, sentences: list[str]) -> None:
    assert list(of.doubts()) == sentences


def test_the_reason_of_the_evidence_is_given() -> None:
    waited = {"trigger": "in-flight:app:0 did not come within 15 s", "seen_instead": "app:0 has no partition"}
    (of,) = fault_events(
        [row(effective=False, evidence=waited), row(stage="heal", evidence={"nothing": "x"})]
    )
    assert [*of.doubts()] == [
        NOT_INJECTED.replace("exercised.", "exercised: " + "; ".join(waited.values()) + ".")
    ]
    assert not of.active(15), "nothing was injected, so nothing explains findings"
    (tried,) = fault_events([row(effective=False, evidence={"proof": "not seen"})])
    assert tried.active(15)


def test_lateness_counts_each_stage_that_has_a_time() -> None:
    on_time, late = stage(planned=10), stage(10 + LATE + 1, planned=10)
    assert [*lateness([event(None, late)])] == [
        "The fault kill leader (kill-0) was healed 0.5 s after its time."
    ]
    assert [*lateness([event(late, on_time), event(on_time, None)])] == [
        "The fault kill leader (kill-0) was injected 0.5 s after its time."
    ]
