"""Events that interfere with each other are refused, and others are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nemesis.schedule import Schedule
from nemesis.topology import Topology
from pytest_kafkacheck import (
    configure,
    configure_broker,
    cpu,
    disk_stall,
    kill,
    kill_client,
    leader_storm,
    pause,
    pause_client,
    reassign,
    restart,
)

TOPOLOGY = Topology(
    brokers=(1, 2, 3), controllers=(101, 102, 103), topics={"log": 3, "more": 1}, replicas=3, disks=True,
    clients={"producer": 2, "reader": 1},
)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (kill(1, at=0, lasting=5), pause(1, at=2, lasting=5)),
        (kill("all", at=0, lasting=5), pause("leader", at=2, lasting=5)),
        (disk_stall("1,2", at=0, lasting=5), kill("2,3", at=2, lasting=5)),
        (kill("controllers", at=0, lasting=5), restart(101, at=2)),
        (kill_client("client:0", at=0, lasting=5), pause_client("client:0", at=2, lasting=5)),
        (kill_client("producers", at=0, lasting=5), pause_client("producer", at=2, lasting=5)),
        (kill_client("clients", at=0, lasting=5), pause_client("client:1", at=2, lasting=5)),
        (reassign(at=0, lasting=5), leader_storm("partition:log-0", at=2, lasting=5)),
        (reassign(at=0, lasting=5), reassign(at=2, lasting=5)),
        (reassign(at=0, lasting=5), reassign(after="acks:100", lasting=5)),
        (configure({"a": 1}, at=0, lasting=5), configure({"b": 1, "a": 2}, at=2, lasting=5)),
        (
            configure_broker({"a": 1}, "leader", at=0, lasting=5),
            configure_broker({"a": 1}, 2, lasting=9),
        ),
    ],
)
def test_events_that_interfere_are_refused(first, second) -> None:
    with pytest.raises(ValueError) as refused:
        Schedule.of([first, second]).check(TOPOLOGY)
    assert "-0'" in str(refused.value)
    assert "-1'" in str(refused.value)
    if second.after is None:
        Schedule.of([first, replace(second, at=first.end)]).check(TOPOLOGY)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pause(1, at=0, lasting=5), kill(1, at=2, lasting=5)),
        (kill(1, at=0, lasting=5), kill(1, at=2, lasting=5)),
        (kill(1, at=0, lasting=5), pause(2, at=2, lasting=5)),
        (kill("all", at=0, lasting=5), pause(101, at=2, lasting=5)),
        (kill("all", at=0, lasting=5), pause("controller", at=2, lasting=5)),
        (kill(1, at=0, lasting=5), cpu(1, at=2, lasting=5)),
        (kill_client("producers", at=0, lasting=5), pause_client("reader", at=2, lasting=5)),
        (kill_client("client:0", at=0, lasting=5), pause_client("client:1", at=2, lasting=5)),
        (reassign(at=0, lasting=5), reassign("partition:more-0", at=2, lasting=5)),
        (configure({"a": 1}, at=0, lasting=5), configure({"b": 1}, at=2, lasting=5)),
        (configure_broker({"a": 1}, 1, at=0, lasting=5), configure_broker({"a": 1}, 2, lasting=9)),
    ],
)
def test_other_events_may_overlap(first, second) -> None:
    Schedule.of([first, second]).check(TOPOLOGY)
