"""Budgets refuse schedules that take down too many nodes at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.budget import Budget
from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck import (
    cpu,
    isolate,
    kill,
    kill_client,
    loss,
    partition,
    pause,
    restart,
    rolling_restart,
    stop,
)  # fmt: skip
from tests.support.topologies import TOPOLOGIES, down

MINORITY = Budget(brokers="minority", controllers="minority")


REFUSED = [
    (
        "three",
        MINORITY,
        [kill("1,2", lasting=5)],
        "'kill-0' at 0 s: up to 2 brokers down at once; the budget allows 1",
    ),
    (
        "three",
        MINORITY,
        [kill(1, lasting=5), pause(2, at=4, lasting=5)],
        "'pause-1' at 4 s: up to 2 brokers down",
    ),
    ("three", MINORITY, [kill("leader", lasting=5), pause("follower", at=4, lasting=5)], "'pause-1' at 4 s"),
    ("three", MINORITY, [kill(1, at=4, lasting=5), pause(2, lasting=5)], "(at work then: pause-1)"),
    ("three", MINORITY, [isolate("majority", lasting=5)], "up to 2 brokers"),
    ("three", MINORITY, [partition([[1], [2], [3]], lasting=5)], "up to 2 brokers"),
    ("three", MINORITY, [restart(1), kill(2, at=9, lasting=5)], "'kill-1' at 9 s"),
    ("three", MINORITY, [kill(1, lasting=1, after="acks:9"), kill(2, at=50, lasting=5)], "'kill-1' at 50 s"),
    ("three", Budget(brokers=0), [kill(1, lasting=5)], "up to 1 brokers down at once; the budget allows 0"),
    (
        "three",
        Budget(events=1),
        [cpu(1, lasting=5), loss(2, at=1, lasting=5)],
        "2 faults at once; the budget allows 1",
    ),
    ("three", Budget(controllers="minority"), [kill("controllers", lasting=5)], "up to 3 controllers"),
    ("one", MINORITY, [kill(1, lasting=5)], "up to 1 brokers down at once; the budget allows 0"),
    ("five", MINORITY, [kill("minority", lasting=5), kill(5, at=1, lasting=1)], "up to 3 brokers"),
    ("five", MINORITY, [kill("isr", lasting=5)], "up to 3 brokers"),
    ("apart", MINORITY, [kill("101,102", lasting=5)], "up to 2 controllers"),
    ("apart", MINORITY, [kill(101, lasting=5), pause("controller", at=1, lasting=1)], "up to 2 controllers"),
    ("zookeeper", MINORITY, [kill("101,103", lasting=5)], "up to 2 controllers"),
    ("zookeeper", MINORITY, [kill(1, lasting=5), pause("controller", at=1, lasting=1)], "up to 2 brokers"),
]

ALLOWED = [
    ("three", MINORITY, [kill(1, lasting=5), pause(2, at=5, lasting=5)]),
    ("three", MINORITY, [kill(1, lasting=5), isolate(1, at=2, lasting=5), loss("all", lasting=9)]),
    ("three", MINORITY, [partition([[1], [2, 3]], lasting=5)]),
    ("three", MINORITY, [rolling_restart()]),
    ("three", MINORITY, [restart(1), kill(2, at=10, lasting=5)]),
    ("three", MINORITY, [kill_client("clients", lasting=5)]),
    ("three", Budget(), [kill("all", lasting=5), pause("all", at=1, lasting=5)]),
    ("three", Budget(events=1), [cpu(1, lasting=5), loss(2, at=5, lasting=5)]),
    ("five", MINORITY, [kill("minority", lasting=5)]),
    ("five", MINORITY, [partition([[1, 2], [3, 4, 5]], lasting=5)]),
    ("apart", MINORITY, [kill(101, lasting=5), kill("leader", at=1, lasting=1)]),
    ("apart", MINORITY, [kill("controller", lasting=5), kill("leader", at=1, lasting=1)]),
    ("zookeeper", MINORITY, [kill(102, lasting=5), kill("controller", at=1, lasting=1)]),
]


def test_a_minority_of_an_even_number_is_less_than_half() -> None:
    four = Topology(brokers=(1, 2, 3, 4), controllers=(101,))
    Budget(brokers="minority").check(Schedule.of([kill(1, lasting=5)]), four)
    with pytest.raises(ValueError, match="up to 2 brokers down at once; the budget allows 1"):
        Budget(brokers="minority").check(Schedule.of([kill("1,2", lasting=5)]), four)


@pytest.mark.parametrize(("where", "budget", "events", "said"), REFUSED)
def test_schedules_beyond_the_budget_are_refused_with_the_event(where, budget, events, said) -> None:
    with pytest.raises(ValueError) as refused:
        budget.check(Schedule.of(events), TOPOLOGIES[where])
    assert said in str(refused.value)
    assert str(refused.value).startswith("event '")


@pytest.mark.parametrize(("where", "budget", "events"), ALLOWED)
def test_schedules_within_the_budget_are_accepted(where, budget, events) -> None:
    budget.check(Schedule.of(events), TOPOLOGIES[where])


NODE_EVENTS = st.lists(
    st.builds(
        lambda make, target, at, lasting: make(target, at=at, lasting=lasting),
        st.sampled_from([kill, pause, stop, isolate, cpu]),
        st.sampled_from([1, "2,3", "leader", "follower", "controller", "minority", "majority", "all", "isr"]),
        st.integers(0, 20),
        st.integers(1, 10),
    )
    | st.builds(lambda at: restart(1, at=at), st.integers(0, 20))
    | st.builds(lambda at: rolling_restart(at=at), st.integers(0, 20)),
    max_size=5,
)


@settings(max_examples=300)
@given(
    NODE_EVENTS, st.sampled_from(sorted(TOPOLOGIES)), st.integers(0, 6), st.integers(0, 6), st.integers(0, 5)
)
def test_the_budget_agrees_with_a_naive_count_at_every_moment(
    events, where, brokers, controllers, at_once
) -> None:
    topology, schedule = TOPOLOGIES[where], Schedule.of(events)
    moments = [half / 2 for half in range(140)]
    working = max(sum(event.at <= moment < event.end for event in schedule.events) for moment in moments)
    voters = topology.controllers or topology.zookeepers
    fine = (
        max(down(schedule, topology, moment, topology.brokers) for moment in moments) <= brokers
        and max(down(schedule, topology, moment, voters) for moment in moments) <= controllers
    )
    budget = Budget(brokers=brokers, controllers=controllers)
    if fine:
        budget.check(schedule, topology)
    else:
        with pytest.raises(ValueError, match="event '"):
            budget.check(schedule, topology)
    if working > at_once:
        with pytest.raises(ValueError, match="event '"):
            Budget(events=at_once).check(schedule, topology)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"brokers": -1}, "Budget.brokers=-1: expected a whole number, 0 or more, or 'minority', or None"),
        ({"controllers": "some"}, "Budget.controllers='some'"),
        ({"events": "minority"}, "Budget.events='minority': expected a whole number, 0 or more, or None"),
        ({"events": True}, "Budget.events=True"),
    ],
)
def test_invalid_limits_are_refused(wrong, said) -> None:
    with pytest.raises(ValueError) as refused:
        Budget(**wrong)
    assert said in str(refused.value)


@given(
    st.builds(
        Budget,
        brokers=st.none() | st.just("minority") | st.integers(0, 9),
        controllers=st.none() | st.just("minority") | st.integers(0, 9),
        events=st.none() | st.integers(0, 9),
    )
)
def test_json_round_trip(budget) -> None:
    assert Budget.from_json(budget.to_json()) == budget
