"""Random schedules from a seed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nemesis.budget import Budget
from nemesis.event import Event
from nemesis.faults.rebalance import rebalance
from nemesis.generate import CATCHING_UP, SETTLING, Generated, default_weights, generate, targets
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.topologies import TOPOLOGIES, down
from workloads.groups import Groups
from workloads.queue import Queue

POSSIBLE = sorted(name for name, fault in FAULTS.items() if targets(fault) and name != "configure-broker")

WANTED = st.builds(
    lambda seed, length, events, weights, least, more, budget, quiet: Generated(
        seed=seed,
        length=length,
        events=events,
        weights=weights,
        lasting=(least, least + more),
        budget=budget,
        quiet=None if quiet is None else (least + more + quiet, quiet),
    ),
    st.integers(0, 10**9),
    st.sampled_from([20.0, 33.3, 60.0]),
    st.integers(1, 12),
    st.none() | st.dictionaries(st.sampled_from(POSSIBLE), st.floats(0.1, 5), min_size=1, max_size=8),
    st.floats(0.01, 5),
    st.floats(0, 5),
    st.builds(
        Budget,
        brokers=st.sampled_from([None, "minority", 1, 2]),
        controllers=st.sampled_from([None, "minority", 1]),
        events=st.sampled_from([None, 1, 3]),
    ),
    st.none() | st.floats(0.5, 9),
)


def drawn(wanted: Generated, where: str) -> Schedule:
    try:
        return generate(wanted, TOPOLOGIES[where])
    except ValueError as problem:
        assert str(problem).startswith("no event fits")  # noqa: PT017 - a budget may leave no room at all
        assume(False)
        raise


ONE_BY_ONE = Generated(
    length=20.0,
    events=2,
    weights={"rolling-restart": 1.0},
    lasting=(1.0, 1.0),
    budget=Budget(brokers="minority"),
)
"""Draws a rolling restart of the separate controller, which takes no broker down."""


@settings(max_examples=120, deadline=None)
@example(ONE_BY_ONE, "apart")
@given(WANTED, st.sampled_from(sorted(TOPOLOGIES)))
def test_schedules_keep_length_budget_and_quiet_periods(wanted, where) -> None:
    topology, schedule = TOPOLOGIES[where], drawn(wanted, where)
    schedule.check(topology)
    assert len(schedule.events) <= wanted.events
    for event in schedule.events:
        assert 0 <= event.at <= event.end <= wanted.length
        assert event.fault.momentary or wanted.lasting[0] <= event.lasting <= wanted.lasting[1]
        if wanted.quiet is not None:
            loud, quiet = wanted.quiet
            turn = event.at // (loud + quiet)
            assert event.end <= turn * (loud + quiet) + loud + 1e-6
    blocking = [(e.at, e.end, e.fault.target_family) for e in schedule.events if e.fault.blocks_process]
    for place, (at, end, family) in enumerate(blocking):
        for at_, end_, family_ in blocking[place + 1 :]:
            assert family != family_ or end <= at_ or end_ <= at
            assert family != family_ or at != at_
    shown = [(event.at, event.fault.target_family) for event in schedule.events if event.fault.needs_process]
    assert not any(
        at <= begun < end + 5 for begun, of in shown for at, end, family in blocking if of == family
    )
    voters = topology.controllers or topology.zookeepers
    for moment in {event.at for event in schedule.events} | {
        step / 3 for step in range(int(3 * wanted.length))
    }:
        for limit, nodes in ((wanted.budget.brokers, topology.brokers), (wanted.budget.controllers, voters)):
            allowed = (len(nodes) - 1) // 2 if limit == "minority" else limit
            assert allowed is None or down(schedule, topology, moment, nodes) <= allowed
        if wanted.budget.events is not None:
            working = [event for event in schedule.events if event.at <= moment < event.end]
            assert len(working) <= wanted.budget.events


@settings(max_examples=100, deadline=None)
@given(WANTED, st.sampled_from(sorted(TOPOLOGIES)), st.data())
def test_equal_seeds_give_equal_schedules_and_any_event_can_be_removed(wanted, where, data) -> None:
    schedule = drawn(wanted, where)
    assert generate(wanted, TOPOLOGIES[where]) == schedule
    assert Schedule.from_json(schedule.to_json()) == schedule
    gone = data.draw(st.sampled_from(schedule.events))
    less = schedule.without(gone.id)
    assert less.events == tuple(event for event in schedule.events if event != gone)
    assert Schedule.of(less.events) == less
    for event in less.events:
        whole = next(each for each in schedule.events if each.id == event.id)
        assert event.random(wanted.seed, "how").random() == whole.random(wanted.seed, "how").random()
    less.check(TOPOLOGIES[where])
    wanted.budget.check(less, TOPOLOGIES[where])


@pytest.mark.parametrize("where", [where for where in TOPOLOGIES if where != "one"])
def test_different_seeds_differ(where) -> None:
    schedules = [generate(Generated(seed=seed), TOPOLOGIES[where]) for seed in range(50)]
    assert len({schedule.events for schedule in schedules}) == 50
    assert {event.fault.name for schedule in schedules for event in schedule.events} == set(default_weights())
    assert max(len(schedule.events) for schedule in schedules) == 8
    assert min(len(schedule.events) for schedule in schedules) >= 4


def test_one_broker_gets_faults_that_take_it_down_only_if_the_budget_allows_it() -> None:
    found = generate(Generated(seed=1), TOPOLOGIES["one"])
    assert {event.fault.name for event in found.events} <= {"reset", "loss", "cpu"}
    more = [generate(Generated(seed=seed, budget=Budget()), TOPOLOGIES["one"]) for seed in range(20)]
    assert "kill" in {event.fault.name for schedule in more for event in schedule.events}


def test_a_budget_without_room_for_any_event_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no event fits: budget .*'brokers': 0.*faults kill"):
        generate(Generated(weights={"kill": 1}, budget=Budget(brokers=0)), TOPOLOGIES["three"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"weights": {"asteroid": 1}},
            "Generated.weights: no fault 'asteroid'; allowed are crash-loop, kill",
        ),
        ({"weights": {"fence": 1}}, "Generated.weights: fence needs the name of a producer"),
        (
            {"weights": {"configure-broker": 1}},
            "Generated.weights: configure-broker needs options, which a seed does not know",
        ),
        ({"weights": {"kill": 0}}, "expected one or more above 0"),
        ({"weights": {}}, "expected one or more above 0"),
        ({"events": 0}, "Generated.events=0: expected a whole number, 1 or more"),
        ({"lasting": (0, 5)}, "Generated.lasting=(0, 5)"),
        ({"lasting": (6, 5)}, "Generated.lasting=(6, 5)"),
        ({"lasting": (5, 61)}, "up to length=60"),
        (
            {"quiet": (5, 5)},
            "Generated.quiet=(5, 5): expected (seconds with faults, at least the longest lasting 8",
        ),
        ({"quiet": (9, 0)}, "Generated.quiet=(9, 0)"),
        ({"quiet": 9}, "Generated.quiet=9"),
        ({"quiet": ()}, "Generated.quiet=()"),
        ({"quiet": ("a", "b")}, "Generated.quiet=('a', 'b')"),
        ({"lasting": 3}, "Generated.lasting=3"),
        ({"lasting": (1, 2, 3)}, "Generated.lasting=(1, 2, 3)"),
        ({"lasting": ("a", "b")}, "Generated.lasting=('a', 'b')"),
        ({"length": "60"}, "Generated.length='60': is text, write 60"),
        ({"length": 10**400}, "expected seconds, more than 0"),
        ({"events": 10**9}, "expected a whole number, 1 or more, 200 at most"),
        ({"seed": "x"}, "Generated.seed='x'"),
        ({"budget": None}, "Generated.budget=None: expected a Budget"),
        ({"budget": {"brokers": 1}}, "Generated.budget={'brokers': 1}"),
        ({"weights": 3}, "Generated.weights=3"),
        ({"weights": ["kill"]}, "Generated.weights=['kill']"),
        ({"weights": {"kill": "1"}}, "Generated.weights['kill']='1': expected a number"),
        ({"weights": {"kill": 1, "stop": -5}}, "Generated.weights['stop']=-5"),
    ],
)
def test_invalid_values_are_refused(wrong, said) -> None:
    with pytest.raises(ValueError) as refused:
        Generated(**wrong)
    assert said in str(refused.value)


def test_all_drawn_options_are_valid_and_different() -> None:
    for fault in FAULTS.values():
        if fault.name in POSSIBLE:
            assert len({fault(**options) for options in fault.draw.options}) == len(fault.draw.options)


WITH_GROUPS = replace(
    TOPOLOGIES["three"],
    clients={"producer": 1, "copier": 2, "auditor": 1},
    members={"copiers": 2},
    transactions=("copier-0", "copier-1"),
)


EARLIER = [
    ("isolate-4", "one", 2.4, 2.9),
    ("kill-1", "minority", 8.3, 2.8),
    ("isolate-3", "minority", 15.9, 3.0),
    ("restart-2", "follower", 21.3, 0.0),
    ("loss-0", "follower", 21.5, 2.2),
]


def texts(wanted: Generated, topology: Topology) -> set[str]:
    schedules = (generate(replace(wanted, seed=seed), topology) for seed in range(60))
    return {f"{event.fault.name} {event.target}" for schedule in schedules for event in schedule.events}


def test_with_clients_the_groups_ids_and_roles_of_the_workload_are_hit() -> None:
    found = texts(Generated(clients=True, events=6), WITH_GROUPS)
    assert found >= {
        "kill coordinator:copiers",
        "kill transaction-coordinator:copier-0",
        "kill-client role:copier",
        "kill-client role:auditor",
        "pause-client member:copiers",
        "rebalance group:copiers",
        "fence transaction:copier-1",
        "kill leader",
    }
    assert not [text for text in found if text.split()[1] in ("reader", "session", "producer")]


def test_with_clients_a_workload_without_groups_and_ids_has_no_faults_of_them() -> None:
    found = texts(Generated(clients=True, events=6), TOPOLOGIES["three"])
    assert {text.partition(" ")[0] for text in found} & {"rebalance", "fence"} == set()
    assert not [text for text in found if "coordinator" in text]
    assert "kill-client role:session" in found


def test_with_clients_all_partitions_and_those_of_internal_topics_are_hit() -> None:
    topology = replace(
        WITH_GROUPS,
        topics={"source": 4, "output": 1},
        internal={"__consumer_offsets": 1, "__transaction_state": 2},
    )
    weights = {"leader-storm": 1.0, "add-partitions": 1.0, "pause": 1.0}
    wanted = Generated(clients=True, events=6, weights=weights)
    events = [event for seed in range(150) for event in generate(replace(wanted, seed=seed), topology).events]
    by_fault = {
        name: Counter(str(event.target) for event in events if event.fault.name == name) for name in weights
    }
    assert by_fault["add-partitions"].keys() == {"topic:source", "topic:output"}
    storms = by_fault["leader-storm"]
    assert storms.keys() == {
        *(f"partition:source-{number}" for number in range(4)),
        "partition:output-0",
        "partition:__consumer_offsets-0",
        "partition:__transaction_state-0",
        "partition:__transaction_state-1",
    }
    assert storms["partition:output-0"] > 2 * storms["partition:source-0"], "each topic has the same share"
    assert {"leader:__consumer_offsets-0", "leader:__transaction_state-0"} <= by_fault["pause"].keys()


@pytest.mark.parametrize("fault", ["wipe", "power-loss", "configure", "reassign", "leader-storm"])
def test_faults_that_need_all_replicas_wait_until_they_have_had_time_to_get_in_sync(fault: str) -> None:
    """What is destroyed may be the last copy of an acknowledged record, which no configuration protects. And a soak
    had a change of settings that was not done in time, because the controller stood still."""
    weights = {fault: 2.0, "pause": 1.0, "slow-disk": 1.0, "kill": 1.0}
    hit = 0
    for seed in range(80):
        events = generate(Generated(seed=seed, weights=weights, lasting=(2, 4)), TOPOLOGIES["three"]).events
        for event in events:
            if event.fault.name == fault:
                hit += 1
                others = [each for each in events if each is not event and each.target.family == "nodes"]
                assert not [each for each in others if each.at <= event.at < each.end + CATCHING_UP], events
    assert hit > 60


def test_a_fault_lasts_long_enough_for_its_proof_where_the_schedule_allows_that() -> None:
    """A soak had a slow disk of 3 s, on which the measurement had not ended."""
    for lasting, expected in (((2, 10), (8, 10)), ((2, 5), (5, 5))):
        for seed in range(20):
            wanted = Generated(seed=seed, weights={"slow-disk": 1, "pause": 1}, lasting=lasting)
            for event in generate(wanted, TOPOLOGIES["three"]).events:
                least, most = expected if event.fault.name == "slow-disk" else lasting
                assert least <= event.lasting <= most


def test_groups_that_admit_no_classic_member_are_not_rebalanced() -> None:
    """A group of the consumer protocol refused the member that joins, so that the round of a soak was unknown."""
    others = replace(WITH_GROUPS, has_classic_groups=False)
    assert "rebalance group:copiers" in texts(Generated(clients=True, events=6), WITH_GROUPS)
    assert not [each for each in texts(Generated(clients=True, events=6), others) if "rebalance" in each]
    with pytest.raises(ValueError, match="by the classic protocol, which its coordinator refuses"):
        rebalance("group:copiers").check(others)
    for workload in (
        Groups(protocol="consumer", library="confluent-kafka"),
        Queue(library="command:./client"),
    ):
        cluster = ClusterSpec(version="4.4.0")
        assert not Experiment(workload=workload, cluster=cluster).topology.has_classic_groups
    assert Experiment(workload=Groups()).topology.has_classic_groups


def test_cuts_of_clients_are_drawn_in_both_directions_and_in_one() -> None:
    wanted = Generated(clients=True, events=6, weights={"isolate-client": 1})
    drawn = [
        event for seed in range(20) for event in generate(replace(wanted, seed=seed), WITH_GROUPS).events
    ]
    assert {str(event.fault.options()) for event in drawn} == {
        "{}",
        "{'one_way': 'in'}",
        "{'one_way': 'out'}",
    }
    assert {str(event.target) for event in drawn} >= {"role:copier", "member:copiers"}
    assert not texts(Generated(clients=True, events=6), WITH_GROUPS) & {"isolate-client role:copier"}


def test_without_clients_a_seed_gives_the_schedule_that_it_gave_before() -> None:
    wanted = Generated(seed=7, length=25, events=5, lasting=(2, 6))
    described = [(e.id, str(e.target), e.at, e.lasting) for e in generate(wanted, WITH_GROUPS).events]
    assert described == EARLIER
    assert texts(wanted, WITH_GROUPS) == texts(wanted, replace(WITH_GROUPS, members={}, transactions=()))


def test_names_of_groups_and_ids_need_clients() -> None:
    for name in ("rebalance", "fence"):
        with pytest.raises(ValueError, match=f"{name} needs the name of a .* without clients=True"):
            Generated(weights={name: 1})
        drawn = generate(Generated(weights={name: 1}, clients=True), WITH_GROUPS)
        assert {event.fault.name for event in drawn.events} == {name}
        with pytest.raises(ValueError, match="no event fits"):
            generate(Generated(weights={name: 1}, clients=True), TOPOLOGIES["three"])
    with pytest.raises(ValueError, match=r"Generated\.clients=1: expected True or False"):
        Generated(clients=1)  # type: ignore[arg-type]


def test_groups_and_ids_are_hit_while_their_coordinator_and_members_answer() -> None:
    """A rebalance 1.5 s after the kill of a leader found no member of the group on real brokers."""
    hit = 0
    for seed in range(80):
        events = generate(Generated(seed=seed, clients=True, events=6), WITH_GROUPS).events
        others = [event for event in events if event.fault.name not in ("rebalance", "fence")]
        for event in set(events) - set(others):
            hit += 1
            assert not [each for each in others if each.at <= event.at < each.end + SETTLING], (
                seed,
                event.id,
            )
    assert hit > 20


def test_a_share_of_packets_is_measured_only_where_the_node_has_a_peer() -> None:
    """A soak had a loss without effect: its node was cut off from both others, and clients send too few packets."""
    for seed in range(60):
        wanted = Generated(seed=seed, length=20, events=6, weights={"loss": 2, "isolate": 1, "partition": 1})
        events = generate(wanted, TOPOLOGIES["three"]).events
        cuts = [event for event in events if event.fault.name != "loss"]
        for loss in (event for event in events if event.fault.name == "loss"):
            assert not any(cut.at <= loss.at < cut.end for cut in cuts), (seed, events)


APPLICATION = replace(
    TOPOLOGIES["three"],
    topics={"source": 4, "sink": 4},
    clients={"producer": 1, "app": 2},
    commands=frozenset({"app"}),
    members={"application": 0},
)


def drawn_for(topology: Topology) -> list[Event]:
    return [
        event for seed in range(60) for event in generate(Generated(seed=seed, clients=True), topology).events
    ]


def test_faults_of_an_application_wait_until_an_instance_is_in_the_middle_of_its_work() -> None:
    events = [event for event in drawn_for(APPLICATION) if event.target.family == "clients"]
    aimed = [event for event in events if event.after is not None]
    assert len(aimed) > 20
    assert len(events) - len(aimed) > 20
    assert {str(event.after).partition(" from")[0] for event in aimed} == {
        "in-flight:app:0",
        "in-flight:app:1",
    }
    assert all(f"{event.target}" in str(event.after) for event in aimed)
    assert all(event.latest + event.lasting <= 60 for event in aimed)


def test_nothing_waits_for_instances_that_nobody_sees() -> None:
    for topology in (replace(APPLICATION, unseen_instances="no {group}"), WITH_GROUPS):
        assert not [event for event in drawn_for(topology) if event.after is not None]


def test_the_group_of_an_application_has_a_coordinator_and_no_members_of_ours() -> None:
    targets = {str(event.target) for event in drawn_for(APPLICATION)}
    assert "coordinator:application" in targets
    assert not {"group:application", "member:application", "transaction:application"} & targets
