"""Targets: which texts are accepted, and what they resolve to."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.faults.corrupt import corrupt
from nemesis.faults.remove_broker import remove_broker
from nemesis.resolution import Unresolved, resolve
from nemesis.targets import Groups, Target, check, parse
from nemesis.topology import Topology
from nemesis.triggers import Trigger

RNG = random.Random(0)

TOPOLOGY = Topology(
    brokers=(1, 2, 3),
    controllers=(1, 2, 3),
    topics={"log": 3},
    replicas=3,
    clients={"producer": 2, "reader": 1, "session": 0, "counter": 2},
    members={"orders": 2, "billing": 1, "gone": 0},
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("leader", Target(kind="leader")),
        ("leader:3", Target(kind="leader", partition=3)),
        ("leader:orders-0", Target(kind="leader", topic="orders", partition=0)),
        ("follower:my-orders.v1-12", Target(kind="follower", topic="my-orders.v1", partition=12)),
        ("leader:2024-1", Target(kind="leader", topic="2024", partition=1)),
        ("isr:1", Target(kind="isr", partition=1)),
        ("out-of-sync:a-b-1", Target(kind="out-of-sync", topic="a-b", partition=1)),
        *((word, Target(kind=word)) for word in (
            "follower", "isr", "out-of-sync", "controller", "controllers", "one", "random", "minority", "majority",
            "all", "partition", "topic", "cluster", "clients", "producers", "reader",
        )),
        ("coordinator:my group".replace(" ", "-"), Target(kind="coordinator", name="my-group")),
        ("transaction-coordinator:t:1", Target(kind="transaction-coordinator", name="t:1")),
        ("transaction:t", Target(kind="transaction", name="t")),
        ("group:g", Target(kind="group", name="g")),
        ("topic:orders-0", Target(kind="topic", topic="orders-0")),
        ("client:7", Target(kind="client", nodes=(7,))),
        ("member:orders", Target(kind="member", name="orders")),
        ("role:counter", Target(kind="role", name="counter")),
        ("roles:counter", Target(kind="roles", name="counter")),
        ("2", Target(kind="node", nodes=(2,))),
        (2, Target(kind="node", nodes=(2,))),
        ("3,1", Target(kind="node", nodes=(3, 1))),
    ],
    ids=repr,
)  # fmt: skip
def test_texts_of_targets(text: str | int, target: Target) -> None:
    assert Target.parse(text) == target
    assert str(target) == str(text)
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "wrong",
    ["", "Leader", "leader:", "leader:x", "leader:log-", "controller:1", -1, True, None, 1.5, "1 ", "²", "1,1", "1,",
     "coordinator", "group:", "group:a b", "client", "client:x", "member", "member:", "minority:1"],
)  # fmt: skip
def test_other_text_is_refused_with_what_is_allowed(wrong: object) -> None:
    with pytest.raises(ValueError, match=re.escape(f"no target {wrong!r}; ")):
        Target.parse(wrong)  # type: ignore[arg-type]


def test_groups() -> None:
    groups = parse([[1], [2, 3]])
    assert groups == Groups(((1,), (2, 3)))
    assert groups.to_json() == [[1], [2, 3]]
    assert str(groups) == "1 | 2, 3"


@pytest.mark.parametrize(
    "wrong", [[], [[1, 2]], [[1], []], [[1], [1, 2]], [["1"], [2]], [1, 2], [[True], [2]]]
)
def test_invalid_groups_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"groups .*expected two or more disjoint groups"):
        parse(wrong)  # type: ignore[arg-type]


@given(st.text())
def test_any_text_is_a_target_with_that_text_or_a_value_error(text: str) -> None:
    try:
        target = Target.parse(text)
    except ValueError:
        return
    assert Target.parse(str(target)) == target


@pytest.mark.parametrize(
    "fine",
    [
        "leader",
        "leader:2",
        "follower:log-0",
        "controller",
        "controllers",
        "random",
        "minority",
        "isr",
        3,
        "1,2",
        [[1], [3]],
        "partition:2",
        "topic",
        "topic:log",
        "producers",
        "client:2",
        "member:orders",
        "coordinator:anything",
    ],
)
def test_possible_targets_are_accepted(fine: str | int | list[list[int]]) -> None:
    check(parse(fine), TOPOLOGY)


@pytest.mark.parametrize(
    ("impossible", "said"),
    [
        (7, "target '7': the cluster has no node 7; allowed: 1, 2, 3"),
        ([[1], [4]], "target '1 | 4': the cluster has no node 4"),
        ("leader:3", "target 'leader:3': log has no partition 3; allowed: 0 to 2"),
        ("follower:log-9", "log has no partition 9"),
        ("leader:other-0", "the workload has no topic other; allowed: log"),
        ("partition:3", "log has no partition 3"),
        ("topic:other", "the workload has no topic other; allowed: log"),
        ("1,4", "target '1,4': the cluster has no node 4"),
        ("client:5", "no such process; allowed: 0 to 4"),
        (
            "role:writer",
            "the workload has no writer; allowed: clients, or those of producer, reader, counter",
        ),
        ("member:gone", "the workload has no members of gone; allowed: member:orders, member:billing"),
        ("sessions", "the workload has no session; allowed: clients, or those of producer, reader, counter"),
    ],
)
def test_impossible_targets_are_refused(impossible: str | int | list[list[int]], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check(parse(impossible), TOPOLOGY)


def test_where_any_topic_may_exist_targets_and_triggers_name_one() -> None:
    around_own_code = Topology(brokers=(1, 2, 3), any_topic=True, replicas=3)
    for target in ("leader:orders-7", "topic:orders", "coordinator:billing", "transaction:transfer-1"):
        check(parse(target), around_own_code)
    Trigger.parse("isr-shrink:orders-7").check(around_own_code)
    for target in ("leader", "partition:2", "topic"):
        with pytest.raises(
            ValueError, match=rf"target '{target}': name a topic, such as '{target.split(':')[0]}:orders"
        ):
            check(parse(target), around_own_code)
    with pytest.raises(ValueError, match="trigger 'isr-full': name a topic, such as 'isr-full:orders-0'"):
        Trigger.parse("isr-full").check(around_own_code)
    with pytest.raises(ValueError, match="no such process"):
        check(parse("client:0"), around_own_code)


def test_faults_that_need_a_topic_or_its_replicas_are_allowed_where_any_topic_may_exist() -> None:
    around_own_code = Topology(brokers=(1, 2, 3), controllers=(101,), any_topic=True, replicas=3)
    for event in (corrupt("leader:orders-0"), corrupt("isr:orders-1"), remove_broker("leader:orders-0")):
        event.check(around_own_code)
    for target in (1, "one", "random"):
        with pytest.raises(ValueError, match=r"corrupt .*: name the partition, such as 'follower:orders-0'"):
            corrupt(target).check(around_own_code)
    alone = Topology(brokers=(1,), controllers=(101,), any_topic=True, replicas=1)
    with pytest.raises(ValueError, match="1 brokers less one are too few for 1 replicas"):
        remove_broker(1).check(alone)


def test_faults_that_need_a_topic_or_its_replicas_are_refused_where_all_topics_are_known() -> None:
    bare = Topology(brokers=(1, 2, 3), controllers=(101,), replicas=3)
    with pytest.raises(ValueError, match="no topic whose segments could be damaged"):
        corrupt(1).check(bare)
    with pytest.raises(ValueError, match="3 brokers less one are too few for 3 replicas"):
        remove_broker(1).check(bare)


def test_a_single_node_has_no_follower() -> None:
    with pytest.raises(ValueError, match="no follower"):
        check(Target.parse("follower"), Topology(brokers=(1,), topics={"log": 1}))


def test_targets_that_the_cluster_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="2 brokers have no minority"):
        check(Target.parse("minority"), Topology(brokers=(1, 2)))
    with pytest.raises(ValueError, match="in ZooKeeper mode one of the brokers is the controller"):
        check(Target.parse("controllers"), Topology(brokers=(1, 2, 3), zookeepers=(201,)))


def test_roles_are_resolved_to_nodes(cluster) -> None:
    def found(text: str | int) -> tuple[int, ...]:
        return resolve(
            Target.parse(text), cluster, view=cluster, topic="log", clients={}, members={}, rng=RNG
        )

    cluster.leaders = {("log", 0): 2, ("log", 1): 3, ("orders", 0): 1}
    assert found("leader") == (2,)
    assert found("leader:1") == (3,)
    assert found("leader:orders-0") == (1,)
    assert found("controller") == (3,)
    assert found(1) == (1,)
    assert found("3,1") == (3, 1)
    assert found("follower") == (3,)  # assignment 2, 3, 1
    assert found("isr") == found("all") == found("controllers") == (1, 2, 3)
    assert found("partition") == (2, 3, 1)
    assert found("topic") == found("cluster") == found("group:g") == ()
    assert found("coordinator:g") == (1,)
    cluster.in_sync = (1, 2)
    assert found("follower") == (1,)
    assert found("out-of-sync") == (3,)
    assert len(found("minority")) == len(found("one")) == 1
    assert len(found("majority")) == 2
    cluster.brokers = tuple(range(1, 5))
    assert (len(found("minority")), len(found("majority"))) == (1, 3)


def test_instances_of_an_application_are_resolved_by_their_numbers(cluster) -> None:
    """Process 7 replaced the first one of instance 1."""

    def found(text: str) -> tuple[int, ...]:
        return resolve(
            Target.parse(text), cluster, view=cluster, topic="log", clients={0: "producer", 1: "app", 7: "app"},
            members={}, instances={1: 0, 7: 1}, rng=RNG,
        )  # fmt: skip

    assert found("app") == found("roles:app") == (1, 7)
    assert (found("app:0"), found("app:1")) == ((1,), (7,))
    with pytest.raises(Unresolved, match="no client process is app:2"):
        found("app:2")
    for text in ("app", "app:1"):
        assert str(Target.parse(text)) == Target.parse(text).to_json() == text
        assert Target.parse(text).role == "app"
    assert Target.parse("app").is_whole_role
    assert not Target.parse("app:1").is_whole_role


def test_clients_are_resolved_by_role_and_number(cluster) -> None:
    roles = {0: "producer", 1: "producer", 2: "reader", 3: "counter", 4: "counter"}
    groups = {2: "orders", 3: "billing", 4: "orders"}

    def found(text: str) -> tuple[int, ...]:
        return resolve(
            Target.parse(text), cluster, view=cluster, topic="log", clients=roles, members=groups, rng=RNG
        )

    assert found("clients") == (0, 1, 2, 3, 4)
    assert found("producers") == found("roles:producer") == (0, 1)
    assert found("roles:counter") == (3, 4)
    assert found("role:counter") in ((3,), (4,))
    assert found("reader") == found("client:2") == (2,)
    assert found("producer") in ((0,), (1,))
    assert {found("member:orders") for _ in range(30)} == {(2,), (4,)}
    assert found("member:billing") == (3,)
    with pytest.raises(Unresolved, match="no client process is session"):
        found("session")
    with pytest.raises(Unresolved, match="no client process is member:audit"):
        found("member:audit")


@pytest.mark.parametrize(
    ("change", "target", "said"),
    [
        ({"leaders": {("log", 0): None}}, "leader", "log-0 has no leader"),
        ({"leaders": {("log", 0): None}}, "follower", "log-0 has no leader"),
        ({"in_sync": (2,)}, "follower", "no in-sync follower: leader 2, ISR [2]"),
        ({"active_controller": None}, "controller", "no active controller"),
        ({}, "out-of-sync", "no replica out of sync: ISR [1, 2, 3]"),
        ({"in_sync": ()}, "isr", "empty ISR"),
        ({}, "coordinator:gone", "no broker names a coordinator of gone"),
    ],
)
def test_targets_that_are_nothing_now_are_unresolved(cluster, change, target, said) -> None:
    for name, value in change.items():
        setattr(cluster, name, value)
    with pytest.raises(Unresolved, match=re.escape(said)):
        resolve(Target.parse(target), cluster, view=cluster, topic="log", clients={}, members={}, rng=RNG)


def test_random_targets_depend_only_on_the_generator(cluster) -> None:
    chosen = [
        resolve(
            Target.parse("random"),
            cluster,
            view=cluster,
            topic="log",
            clients={},
            members={},
            rng=random.Random(seed),
        )
        for seed in range(40)
    ]
    again = [
        resolve(
            Target.parse("random"),
            cluster,
            view=cluster,
            topic="log",
            clients={},
            members={},
            rng=random.Random(seed),
        )
        for seed in range(40)
    ]
    assert chosen == again
    assert {len(nodes) for nodes in chosen} == {1, 2, 3}
    assert {node for nodes in chosen for node in nodes} == {1, 2, 3}
