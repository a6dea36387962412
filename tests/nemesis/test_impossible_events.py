"""Events that can never be carried out on a topology are refused."""

from __future__ import annotations

import pytest

from nemesis.schedule import Schedule
from pytest_kafkacheck import (
    configure_broker,
    corrupt,
    cut_clients,
    disk_full,
    elect,
    isolate_client,
    power_loss,
    remove_broker,
    wipe,
)
from tests.support.topologies import TOPOLOGIES


@pytest.mark.parametrize(
    ("event", "where", "said"),
    [
        (corrupt(101, lasting=1), "apart", "101 have no partition of a topic; brokers are 1, 2, 3"),
        (corrupt("controller", lasting=1), "apart", "the controllers have no partition of a topic"),
        (wipe("controllers", lasting=1), "apart", "the controllers have no replicas"),
        (wipe(101, lasting=1), "zookeeper", "101 have no replicas"),
        (
            configure_broker({"log.cleaner.threads": 2}, "controller", lasting=1),
            "apart",
            "are no brokers",
        ),
        (configure_broker({"log.cleaner.threads": 2}, 101, lasting=1), "zookeeper", "101 are no brokers"),
        (cut_clients("controllers", lasting=1), "apart", "the controllers have no clients"),
        (
            isolate_client("producer", brokers="controllers", lasting=1),
            "apart",
            "the controllers have no clients",
        ),
        (
            isolate_client("producer", brokers=101, lasting=1),
            "zookeeper",
            "101 have no clients; brokers are 1, 2",
        ),
        (
            isolate_client("producer", brokers=9, lasting=1),
            "three",
            "the cluster has no node 9; allowed: 1, 2, 3",
        ),
        (
            isolate_client("producer", brokers="leader:7", lasting=1),
            "three",
            "log has no partition 7; allowed: 0 to 2",
        ),
        (remove_broker(101, lasting=1), "apart", "101 are no brokers"),
        (disk_full(101, lasting=1), "zookeeper", "ZooKeeper nodes 101 have no disks of their own"),
        (power_loss("1,102", lasting=1), "zookeeper", "ZooKeeper nodes 102 have no disks of their own"),
        (elect(), "one", "a partition with one replica has one leader only"),
    ],
)
def test_impossible_events_are_refused(event, where, said) -> None:
    with pytest.raises(ValueError) as refused:
        Schedule.of([event]).check(TOPOLOGIES[where])
    assert said in str(refused.value)
    assert f"event '{event.fault.name}-0': {event.fault.name}" in str(refused.value)
