"""Schedules as values: validated, equal after a round trip through JSON, with independent events."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.event import Event
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck import isolate, kill, partition, pause

TIMES = st.floats(0, 1e6) | st.integers(0, 10**6)
LASTING = st.floats(0.001, 1e6) | st.integers(1, 10**6)
TARGETS = st.sampled_from(
    ["leader", "leader:2", "leader:orders-1", "follower", "controller", "random", 1, "3"]
)
OPTIONS = st.just({}) | st.sampled_from(
    [{"plane": "replication"}, {"plane": "controller"}, {"ports": [9092, 1]}]
)
EVENTS = st.builds(
    lambda make, target, at, lasting: make(target, at=at, lasting=lasting),
    st.sampled_from([kill, pause, isolate, partition]), TARGETS, TIMES, LASTING,
) | st.builds(
    lambda target, at, lasting, options: partition(target, at=at, lasting=lasting, **options),
    TARGETS | st.just([[1], [2, 3]]), TIMES, LASTING, OPTIONS,
)  # fmt: skip
SCHEDULES = st.lists(EVENTS, max_size=6).map(Schedule.of)


@given(SCHEDULES)
def test_json_round_trip(schedule: Schedule) -> None:
    again = Schedule.from_json(json.loads(json.dumps(schedule.to_json())))
    assert again == schedule
    assert hash(again) == hash(schedule)


def test_json_text() -> None:
    schedule = Schedule.of(
        [partition("leader", at=2, lasting=7, plane="replication"), kill(2, at=8, lasting=10)]
    )
    assert schedule.to_json() == [
        {
            "id": "partition-0",
            "at": 2,
            "lasting": 7,
            "fault": "partition",
            "target": "leader",
            "options": {"plane": "replication"},
        },
        {"id": "kill-1", "at": 8, "lasting": 10, "fault": "kill", "target": "2"},
    ]


@given(SCHEDULES, st.integers(0, 5), st.integers())
def test_the_removal_of_an_event_changes_no_other(schedule: Schedule, position: int, seed: int) -> None:
    left = Schedule.of(schedule.events[:position] + schedule.events[position + 1 :])
    choices = {event: event.random(seed, "target").random() for event in schedule.events}
    assert all(choices[event] == event.random(seed, "target").random() for event in left.events)


def test_streams_differ_by_event_and_by_seed() -> None:
    first, second = Schedule.of([kill("random", at=1, lasting=1), kill("random", at=2, lasting=1)]).events
    drawn = {event.random(seed, "target").random() for event in (first, second) for seed in range(20)}
    assert len(drawn) == 40


def test_the_choices_of_a_fault_do_not_depend_on_its_target() -> None:
    (event,) = Schedule.of([kill("random", at=0, lasting=1)]).events
    assert len({event.random(1, choice).random() for choice in ("target", "how")}) == 2


def test_missing_ids_come_from_the_position_and_others_are_kept() -> None:
    event = isolate("leader", at=1, lasting=1)
    schedule = Schedule.of([event, event, kill(1, at=1, lasting=1)])
    assert [each.id for each in schedule.events] == ["isolate-0", "isolate-1", "kill-2"]
    assert event.id == ""
    later = Schedule.of([schedule.events[1], event, *schedule.events[2:]])
    assert [each.id for each in later.events] == ["isolate-1", "isolate-2", "kill-2"]


def test_the_registry_has_every_fault_under_its_name() -> None:
    assert all(fault.name == name for name, fault in FAULTS.items())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: kill("leader", at=-1, lasting=1), "Event.at=-1: expected seconds, 0 or more"),
        (lambda: kill("leader", at=math.inf, lasting=1), "Event.at=inf"),
        (lambda: kill("leader", at="3", lasting=1), "Event.at='3'"),
        (lambda: kill("leader", at=True, lasting=1), "Event.at=True"),
        (lambda: kill("leader", at=1, lasting=0), "Event.lasting=0: expected seconds, more than 0"),
        (lambda: kill("leader", at=1, lasting=math.nan), "Event.lasting=nan"),
        (lambda: kill("leader", at=1, lasting=10**400), "31536000 at most"),
        (lambda: kill("leader", at=1e308, lasting=1), "Event.at=1e+308"),
        (lambda: pause("boss", at=1, lasting=1), "no target 'boss'; allowed are node ids such as 2"),
        (lambda: isolate([[1], [2]], at=1, lasting=1), "no target [[1], [2]]; allowed are"),
        (lambda: partition([[1]], at=1, lasting=1), "groups [[1]]"),
        (lambda: partition(1, at=1, lasting=1, plane="data"), "plane='data': allowed are None, 'replication'"),
        (lambda: partition(1, at=1, lasting=1, ports=[]), "ports=[]: expected one or more numbers"),
        (lambda: partition(1, at=1, lasting=1, ports=[0]), "ports=[0]"),
        (lambda: partition(1, at=1, lasting=1, ports=9092), "ports=9092"),
        (lambda: partition(1, at=1, lasting=1, ports=[9092], plane="controller"), "one of the two"),
        (lambda: Event(fault="kill", target="leader", at=1, lasting=1), "Event.fault='kill': expected"),
        (lambda: Event(fault=FAULTS["kill"](), target="leader", at=1, lasting=1), "Event.target='leader'"),
    ],
)  # fmt: skip
def test_wrong_events_are_refused(make, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        make()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"fault": "flood", "target": 1, "at": 1, "lasting": 1},
            "fault 'flood'; allowed are crash-loop, kill",
        ),
        ({"fault": "kill", "at": 1, "lasting": 1}, "target None"),
        ({"fault": "kill", "target": [[1], [2]], "at": 1, "lasting": 1}, "kill takes one target, not groups"),
        ({"fault": "kill", "target": 1, "at": 1}, "lasting"),
        ({"fault": "kill", "target": 1, "at": 1, "lasting": 1, "when": 3}, "when"),
        ({"fault": "kill", "target": 1, "at": 1, "lasting": 1, "options": {"hard": 1}}, "hard"),
        ("kill", "expected an object"),
    ],
)
def test_wrong_json_is_refused(data: object, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Schedule.from_json([data])  # type: ignore[list-item]


def test_a_schedule_is_a_list_of_events_with_different_ids() -> None:
    event = dataclasses.replace(kill(1, at=1, lasting=1), id="x")
    with pytest.raises(ValueError, match="all different"):
        Schedule.of([event, event])
    with pytest.raises(ValueError, match="one for each event"):
        Schedule((kill(1, at=1, lasting=1),))
    with pytest.raises(TypeError, match="got 'isolate'"):
        Schedule.of(["isolate"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="expected a list of events"):
        Schedule.from_json("kill")  # type: ignore[arg-type]


def test_impossible_events_are_refused_by_check() -> None:
    with pytest.raises(ValueError, match="no node 7"):
        kill(7, at=1, lasting=1).check(Topology(brokers=(1, 2), topics={"log": 1}))
    with pytest.raises(ValueError, match="no peers to be cut from"):
        isolate("leader", at=1, lasting=1).check(Topology(brokers=(1,), topics={"log": 1}))
    kill("leader", at=1, lasting=1).check(Topology(brokers=(1,), topics={"log": 1}))


@pytest.mark.parametrize(
    "wrong",
    [{"at": "x"}, {"lasting": None}, {"target": "boss"}, {"options": {"every": 0}}, {"after": "noon"}],
)
def test_wrong_json_is_refused_with_the_event(wrong: dict[str, object]) -> None:
    event = {"id": "mine", "fault": "crash-loop", "target": 1, "at": 1, "lasting": 1}
    with pytest.raises(ValueError, match=r"event \{'id': 'mine'.*: .*") as refused:
        Schedule.from_json([event | wrong])
    assert repr(*wrong.values()) in str(refused.value) or "every=0" in str(refused.value)
