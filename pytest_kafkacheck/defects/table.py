"""The known defects, with the schedules that were made for them.

The facts are from Kafka's issue tracker and from its sources, compared release by release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from analyzers.catalogue.bounds import Bounds
from nemesis.faults.add_partitions import add_partitions
from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.leader_storm import leader_storm
from nemesis.faults.partition import partition
from nemesis.faults.pause import pause
from nemesis.faults.pause_client import pause_client
from nemesis.faults.reassign import reassign
from nemesis.faults.restart import restart
from nemesis.faults.rolling_restart import rolling_restart
from nemesis.faults.upgrade import upgrade
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.append_log import AppendLog
from workloads.compacted import Compacted
from workloads.groups import Groups
from workloads.queue import Queue
from workloads.transactions import Transactions

SAFE = {"min.insync.replicas": 2}

Of = Literal["broker", "java", "librdkafka"]


@dataclass(frozen=True, kw_only=True)
class Defect:
    """id        in the issue tracker.
    does       what goes wrong, as a sentence without a full stop.
    affected   the releases with it, in words.
    release    an affected one, on which it is shown; of the client where the defect is the client's.
    control    the first release with the mend; None while it is open.
    of         whose releases these are.
    anomalies  that it shows, by the names of the catalogue; a note counts, too.
    claim      id of the claim that shows it, see `kafkacheck scenarios`.
    schedule   makes the experiment that was made for it, on a cluster of a release.
    missing    why there is neither: what runs cannot bring about, or what verdicts cannot tell.
    """

    id: str
    does: str
    affected: str
    release: str
    control: str | None
    of: Of = "broker"
    anomalies: tuple[str, ...] = ()
    claim: str = ""
    schedule: Callable[[str], Experiment] | None = None
    missing: str = ""


def _planned_changes(version: str) -> Experiment:
    return Experiment(
        workload=AppendLog(acks=1, partitions=1, topic_config={"min.insync.replicas": 1}),
        cluster=ClusterSpec(version=version),
        faults=[leader_storm(at=3, lasting=12)],
    )


COMMITTING = Groups(commit="periodic", topic_config=SAFE)


def _failed_commits(version: str) -> Experiment:
    cluster = ClusterSpec(version=version, config={"min.insync.replicas": "2"})
    cuts = [isolate("coordinator:group-0", at=at, lasting=6) for at in (4, 18, 32)]
    return Experiment(workload=COMMITTING, cluster=cluster, faults=cuts, cooldown=14)


def _moved_coordinator(version: str) -> Experiment:
    # With one replica, a move takes the partition away from its leader, and brings it back.
    cluster = ClusterSpec(version=version, config={"offsets.topic.replication.factor": "1"})
    moves = [reassign("partition:__consumer_offsets-0", at=at, lasting=6) for at in (3, 15, 27)]
    return Experiment(workload=COMMITTING, cluster=cluster, faults=moves, cooldown=14)


def _late_markers(version: str) -> Experiment:
    cuts = [
        partition(
            "transaction-coordinator:transactor-0", at=at, lasting=5, one_way="out", plane="replication"
        )
        for at in (4, 18)
    ]
    storm = leader_storm("partition:__transaction_state-0", at=30, lasting=8)
    return Experiment(
        workload=Transactions(rivals=1, topic_config=SAFE),
        cluster=ClusterSpec(version=version),
        faults=[*cuts, storm],
        cooldown=14,
    )


def _unloaded_transactions(version: str) -> Experiment:
    return Experiment(
        workload=Transactions(topic_config=SAFE),
        cluster=ClusterSpec(version=version),
        faults=[leader_storm("partition:__transaction_state-0", at=3, lasting=20, every=0.3)],
        cooldown=14,
    )


def _cleaned_too_far(version: str) -> Experiment:
    cuts = [partition("leader", at=at, lasting=6, plane="replication") for at in (4, 18)]
    return Experiment(
        workload=Compacted(topic_config=SAFE, partitions=1, writers=3),
        cluster=ClusterSpec(version=version, zookeepers=1),
        faults=[*cuts, kill("leader", at=30, lasting=5)],
    )


def _expired_while_rebalancing(version: str) -> Experiment:
    cluster = ClusterSpec(
        version=version,
        zookeepers=1,
        config={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"},
    )
    return Experiment(
        # Members that leave and join begin a rebalance, which waits for the one that stands still.
        workload=Groups(topic_config=SAFE, session_timeout=100, rate=100, rejoin=8),
        cluster=cluster,
        faults=[pause_client("member:group-0", at=12, lasting=90)],
        cooldown=20,
    )


def _stuck_isr(version: str) -> Experiment:
    faults = [
        event
        for at in (4, 16, 28)
        for event in (pause("follower", at=at, lasting=5), kill("controller", at=at + 5.5, lasting=3))
    ]
    return Experiment(
        workload=AppendLog(partitions=12, topic_config=SAFE),
        cluster=ClusterSpec(version=version, zookeepers=1),
        faults=faults,
    )


def _late_truncation(version: str) -> Experiment:
    return Experiment(
        workload=AppendLog(partitions=6, topic_config=SAFE),
        cluster=ClusterSpec(version=version, zookeepers=1),
        faults=[leader_storm(at=3, lasting=12, every=0.3), rolling_restart("all", at=18)],
    )


def _moving_leaders(version: str) -> Experiment:
    storms = [leader_storm(f"partition:{number}", at=3, lasting=20, every=0.3) for number in range(4)]
    return Experiment(
        workload=AppendLog(
            partitions=24, library="confluent-kafka", idempotence=True, topic_config=SAFE, rate=2000
        ),
        cluster=ClusterSpec(version=version),
        faults=[*storms, rolling_restart("all", at=26)],
    )


def _hanging_transactions(version: str) -> Experiment:
    # The coordinator moves to the other release, and loses its part to another node. When that one is restarted, the
    # coordinator is back, and ends transactions on leaders of the line before.
    coordinator = "transaction-coordinator:transactor-0"
    return Experiment(
        workload=Transactions(transactors=3, partitions=6, topic_config=SAFE),
        cluster=ClusterSpec(version="4.1.2"),
        faults=[upgrade(coordinator, to=version, at=3), restart(coordinator, at=25)],
        bounds=Bounds(unavailable=15),
        cooldown=20,
    )


GROWTH = [add_partitions(at=at) for at in (4, 14, 24)]
"""Brokers tell members of new partitions in their answers to heartbeats, which are 5 s apart by default. Producers
learn of them sooner."""


def _added_to_a_share_group(version: str) -> Experiment:
    cluster = ClusterSpec(version=version, config={"group.share.min.record.lock.duration.ms": "1000"})
    workload = Queue(auto_offset_reset="latest", lock=2, topic_config=SAFE)
    return Experiment(workload=workload, cluster=cluster, faults=GROWTH, cooldown=14)


def _added_to_a_group(version: str) -> Experiment:
    workload = Groups(
        library="java",
        client_version=version,
        protocol="consumer",
        auto_offset_reset="latest",
        topic_config=SAFE,
    )
    return Experiment(workload=workload, faults=GROWTH, cooldown=14)


TRANSACTIONAL = ("torn-transaction", "zombie-write", "transaction-state-regression")

DEFECTS: tuple[Defect, ...] = (
    Defect(
        id="KAFKA-20554",
        does="acks=1 loses acknowledged records when leaders change by plan, and nothing fails",
        affected="all",
        release="4.1.1",
        control=None,
        anomalies=("lost-write",),
        schedule=_planned_changes,
    ),
    Defect(
        id="KAFKA-20634",
        does="an acknowledged commit is gone after the coordinator moved",
        affected="4.0 to 4.3.0",
        release="4.3.0",
        control="4.3.1",
        anomalies=("commit-regression", "excess-duplicates"),
        schedule=_failed_commits,
    ),
    Defect(
        id="KAFKA-20742",
        does="a share group leaves out records of partitions that were added to a topic",
        affected="4.1 to 4.3.1",
        release="4.3.1",
        control="4.4.0",
        anomalies=("added-queue-skip", "queue-lost"),
        schedule=_added_to_a_share_group,
    ),
    Defect(
        id="KAFKA-20539",
        does="with auto.offset.reset=latest a group leaves out what was written to added partitions",
        affected="all Java clients",
        release="4.3.1",
        control=None,
        of="java",
        anomalies=("added-partition-skip",),
        schedule=_added_to_a_group,
    ),
    Defect(
        id="KAFKA-19446",
        does="late markers of one transaction end the next one of the producer",
        affected="4.0 to 4.1.2",
        release="4.1.1",
        control="4.2.0",
        anomalies=TRANSACTIONAL,
        schedule=_late_markers,
    ),
    Defect(
        id="KAFKA-20322",
        does="transactions hang in clusters of 4.1 and 4.2.0",
        affected="4.2.0",
        release="4.2.0",
        control="4.2.1",
        anomalies=("unavailable",),
        schedule=_hanging_transactions,
    ),
    Defect(
        id="KAFKA-20115",
        does="a coordinator goes on after its partition was moved away: there are two",
        affected="up to 4.1.1",
        release="4.1.1",
        control="4.1.2",
        anomalies=("commit-regression", "double-ownership", "group-state-conflict"),
        schedule=_moved_coordinator,
    ),
    Defect(
        id="KAFKA-19690",
        does="a producer cannot go on after its coordinator aborted a transaction by time-out",
        affected="3.9.0, 3.9.1, 4.0 to 4.1.0",
        release="4.1.0",
        control="4.1.1",
        claim="A18",
    ),
    Defect(
        id="KAFKA-19294",
        does="brokers are fenced for no reason after the controller did not answer",
        affected="3.9.0, 3.9.1",
        release="3.9.0",
        control="3.9.2",
        missing="a broker that is fenced for some seconds is no anomaly without a bound of the user",
    ),
    Defect(
        id="KAFKA-18137",
        does="the end of one load of transactions removes the newer load",
        affected="3.9",
        release="3.9.0",
        control="4.0.0",
        anomalies=(*TRANSACTIONAL, "silent-partition"),
        schedule=_unloaded_transactions,
    ),
    Defect(
        id="KAFKA-13194",
        does="the cleaner goes above the high watermark: uncommitted records replace committed ones",
        affected="up to 3.0",
        release="3.0.2",
        control="3.1.2",
        anomalies=("risen-key", "lost-write"),
        schedule=_cleaned_too_far,
    ),
    Defect(
        id="KAFKA-13636",
        does="committed positions expire while their group rebalances",
        affected="up to 2.8.1",
        release="2.8.1",
        control="2.8.2",
        anomalies=("commit-regression", "group-skip", "excess-duplicates"),
        schedule=_expired_while_rebalancing,
    ),
    Defect(
        id="KAFKA-14704",
        does="a former leader may serve records that are not committed",
        affected="up to 3.4.0",
        release="3.4.0",
        control="3.4.1",
        anomalies=("read-above-watermark",),
        missing="it needs a fetch within milliseconds of an election, and nothing holds one of them back",
    ),
    Defect(
        id="KAFKA-12751",
        does="replicas never get in sync again, because a change of the ISR stays in flight",
        affected="2.8.0",
        release="2.8.0",
        control="2.8.1",
        anomalies=("silent-partition",),
        schedule=_stuck_isr,
    ),
    Defect(
        id="KAFKA-13207",
        does="a follower truncates a partition that it follows no longer",
        affected="2.8.0",
        release="2.8.0",
        control="2.8.1",
        anomalies=("lost-write", "replica-divergence"),
        schedule=_late_truncation,
    ),
    Defect(
        id="KAFKA-16147",
        does="members of the new group protocol stay without partitions",
        affected="3.7.0 (early access)",
        release="3.7.0",
        control="3.7.1",
        anomalies=("orphaned-partition",),
        missing="groups use that protocol from Kafka 4.0 on, since which it is in production",
    ),
    Defect(
        id="KAFKA-19479",
        does="flush() returns before batches that were split are sent",
        affected="clients up to 4.1.0",
        release="4.1.0",
        control="4.1.1",
        of="java",
        claim="A16",
    ),
    Defect(
        id="KAFKA-19012",
        does="a record arrives in another topic",
        affected="clients up to 4.1.1",
        release="4.1.1",
        control="4.1.2",
        of="java",
        claim="A17",
    ),
    Defect(
        id="librdkafka-4953",
        does="records are there twice in spite of idempotence",
        affected="2",
        release="4.1.1",
        control=None,
        of="librdkafka",
        anomalies=("duplicate",),
        schedule=_moving_leaders,
    ),
)
