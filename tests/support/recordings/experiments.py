"""The experiments, by the name of the folder of the recorded run. Rates are low, so that the runs are small."""

from __future__ import annotations

from collections.abc import Mapping

from nemesis.event import Event
from pytest_kafkacheck import (
    AppendLog,
    ClusterSpec,
    Experiment,
    cut_clients,
    isolate,
    kill,
    partition,
    pause_client,
    wipe,
)
from tests.support.recordings.each_once import EachOnce
from tests.support.recordings.follower_reads import FollowerReads
from tests.support.recordings.shared_work import SharedWork
from tests.support.recordings.transfers import Transfers
from tests.support.recordings.wrong_assignor import WrongAssignor

FEW = {"partitions": 1, "producers": 1, "readers": 1, "sessions": 1, "rate": 20}

ALONE_THEN_LOST = (
    partition("leader", plane="replication", at=2, lasting=7),
    kill("leader", at=8, lasting=12),
)
"""The ISR shrinks to the leader, then the leader is lost, as in examples/test_matrix.py."""


def _experiment(name: str, workload: object, *faults: Event, **more: object) -> Experiment:
    return Experiment(name=name, workload=workload, faults=faults, expect="invalid", **more)


def _settings(minimum: int, unclean: bool) -> dict[str, object]:
    return {"min.insync.replicas": minimum, "unclean.leader.election.enable": unclean}


EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each
    for each in (
        _experiment(
            "acks_one",
            AppendLog(**FEW, acks=1, topic_config={"min.insync.replicas": 1}),
            isolate("leader", at=3, lasting=8),
        ),
        _experiment(
            "unclean",
            AppendLog(**FEW, acks="all", topic_config=_settings(1, unclean=True)),
            *ALONE_THEN_LOST,
        ),
        _experiment(
            "last_replica",
            AppendLog(**FEW, acks=1, topic_config=_settings(2, unclean=False)),
            *ALONE_THEN_LOST,
        ),
        _experiment(
            "last_disk",
            AppendLog(**FEW, acks="all", topic_config=_settings(1, unclean=False)),
            partition("leader", plane="replication", at=2, lasting=10),
            wipe("leader", at=8, lasting=6),
        ),
        _experiment("wrong_assignor", WrongAssignor(), duration=5),
        _experiment(
            "duplicates",
            EachOnce(
                **FEW,
                acks="all",
                idempotence=False,
                topic_config=_settings(2, unclean=False),
                client={"request_timeout_ms": 1000},
            ),
            cut_clients("leader", one_way="out", at=3, lasting=5),
        ),
        _experiment(
            "follower_reads",
            FollowerReads(),
            partition([[2], [1, 3]], plane="replication", at=3, lasting=8),
            cluster=ClusterSpec(
                racks=("a", "b", "c"),
                config={"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"},
            ),
        ),
        _experiment(
            "torn_transfer",
            Transfers(),
            partition([[1], [2]], plane="replication", at=3, lasting=9),
            kill(1, at=10, lasting=10),
        ),
        _experiment("stale_member", SharedWork(), pause_client("role:member", at=4, lasting=6)),
    )
}
