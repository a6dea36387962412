"""At the end of a run, the nodes are examined for what faults left behind."""

from __future__ import annotations

import pytest

from nemesis.budget import Budget
from nemesis.effects.reconciler import Reconciler, Resource
from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck import bandwidth, clock, cpu, disk_full, disk_stall, loss, slow_disk


@pytest.mark.parametrize(
    ("event", "broken", "said"),
    [
        (loss(1, lasting=2), "nft", "the rules of loss are still there"),
        (bandwidth(1, lasting=2), "tc", "its interface still has tbf"),
        (cpu(1, lasting=2), "limit_cpu", "it is still limited to 0.1 cores"),
        (clock(1, lasting=2, offset=5), "clear", "its clock is still 5 s off"),
        (disk_full(1, lasting=2), "empty", "its disk is still full"),
        (disk_stall(1, lasting=2), "unstall", "its disk is still stalled"),
        (slow_disk(1, lasting=2), "throttle", "its disk is still limited to 1000000 bytes per second"),
    ],
    ids=lambda value: getattr(getattr(value, "fault", None), "name", None),
)
def test_what_a_heal_left_behind_is_reported(fake_run, event, broken: str, said: str) -> None:
    fake_run.stop.arrange(1, lambda: fake_run.cluster.nodes[1].ignores.add(broken))
    fake_run.carry_out(event)
    (row,) = [row for row in fake_run.rows if row["f"] == "heal-all"]
    assert said in row["error"]


def test_only_held_or_unsure_resources_are_restored_at_the_end(fake_run) -> None:
    given: list[object] = []

    def apply(_: object, value: object) -> None:
        given.append(value)
        if value == "refused":
            raise OSError("no")

    desired = Reconciler(fake_run.cluster.nodes)
    thing = Resource("thing", lambda wishes: wishes[-1], apply)
    desired.want("a", 1, thing, "x")
    desired.release("a", 1, thing)
    desired.heal_all()
    assert given == ["x", None]
    with pytest.raises(OSError, match="no"):
        desired.want("a", 1, thing, "refused")
    desired.release("a", 1, thing)
    desired.want("b", 2, thing, "y")
    desired.heal_all()
    assert given == ["x", None, "refused", None, "y", None]


def test_shapes_of_partitions_take_down_fewer_than_all_nodes() -> None:
    from pytest_kafkacheck import bridge, halves, majority_ring

    topology = Topology(brokers=(1, 2, 3, 4, 5), controllers=(1, 2, 3, 4, 5), topics={"log": 1}, replicas=3)
    for event in (halves(lasting=1), bridge(lasting=1), majority_ring(lasting=1)):
        Budget(brokers="minority", controllers="minority").check(Schedule.of([event]), topology)
    with pytest.raises(ValueError, match="up to 2 brokers down at once; the budget allows 1"):
        Budget(brokers=1).check(Schedule.of([halves(lasting=1)]), topology)
