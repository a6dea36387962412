"""Configurations from real life with what is known to happen to them, from sources other than our rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pytest_kafkacheck.audit.configuration import Configuration


@dataclass(frozen=True, kw_only=True)
class Known:
    """source: who says it. loses, unavailable, keeps: the events of which the source says so, separated by spaces."""

    name: str
    source: str
    settings: dict[str, Any] = field(default_factory=dict)
    loses: str = ""
    unavailable: str = ""
    keeps: str = ""

    @property
    def configuration(self) -> Configuration:
        return Configuration(**self.settings)

    @property
    def expected(self) -> dict[str, str]:
        return {
            event: effect
            for effect, events in (
                ("loses", self.loses),
                ("unavailable", self.unavailable),
                ("keeps", self.keeps),
            )
            for event in events.split()
        }


def _known(
    name: str, source: str, *, loses: str = "", unavailable: str = "", keeps: str = "", **settings: Any
) -> Known:
    return Known(
        name=name, source=source, loses=loses, unavailable=unavailable, keeps=keeps, settings=settings
    )


# fmt: off
KNOWN = (
    # --- what Kafka, and those who run it for others, begin with ---
    _known("quick start, one broker", "Kafka documentation: quick start, config/server.properties",
           replication=1,
           loses="leader-wiped power-loss-one power-loss", unavailable="leader-killed rolling-restart"),
    _known("the example of the documentation", "Kafka documentation, topic configs: min.insync.replicas",
           replication=3, min_isr=2, acks="all",
           keeps="leader-killed leader-isolated leader-wiped power-loss-one rolling-restart"),
    _known("three replicas and nothing else set", "kubedb/docs pull request 1037: min.insync.replicas=1",
           replication=3, min_isr=1, acks="all",
           loses="isr-of-one-wiped", keeps="leader-killed rolling-restart", unavailable="isr-of-one-killed"),
    _known("Amazon MSK, three zones", "Amazon MSK developer guide: default configuration",
           replication=3, min_isr=2, unclean=True, version="3.6.0", mode="zookeeper", replicas_in_rack=1,
           loses="isr-of-one-killed", keeps="leader-killed rack-lost rolling-restart"),
    _known("Amazon MSK, two zones", "Amazon MSK developer guide: default configuration",
           replication=2, min_isr=1, unclean=True, version="3.6.0", mode="zookeeper", replicas_in_rack=1,
           loses="isr-of-one-killed", keeps="leader-killed rack-lost rolling-restart"),
    _known("Amazon MSK, three zones, tiered storage", "Amazon MSK developer guide: default configuration; KIP-966",
           replication=3, min_isr=2, unclean=False, version="3.6.0", mode="zookeeper", replicas_in_rack=1,
           loses="isr-of-one-wiped last-replica-power-loss", unavailable="isr-of-one-killed", keeps="rack-lost"),
    _known("__consumer_offsets of a Strimzi example", "strimzi/strimzi-kafka-operator: examples/kafka, 2.3.1",
           replication=3, min_isr=1, acks="all", version="2.3.1",
           loses="isr-of-one-wiped last-replica-power-loss", keeps="leader-killed rolling-restart"),
    _known("a producer of Kafka 2.8 as it comes", "KIP-679: acks=1 was the default before 3.0",
           replication=3, min_isr=2, client_version="2.8.2",
           loses="leader-killed leader-isolated"),

    # --- incidents ---
    _known("Jepsen's first test of Kafka", "Jepsen: Kafka, 2013 (0.8 beta, acks=all, no minimum, unclean elections)",
           replication=3, min_isr=1, acks="all", unclean=True, version="0.8.1",
           loses="isr-of-one-killed"),
    _known("all brokers killed in turn", "users@kafka, 22 June 2016: data loss with min.insync.replicas=2",
           replication=3, min_isr=2, acks="all", unclean=True, version="0.9.0",
           loses="last-replica-power-loss"),
    _known("unclean election, counted by LinkedIn, case 1", "KAFKA-10751, apache/kafka pull request 9533",
           replication=3, min_isr=1, acks=1, unclean=True, version="2.7.0",
           loses="isr-of-one-killed"),
    _known("unclean election, counted by LinkedIn, case 2", "KAFKA-10751, apache/kafka pull request 9533",
           replication=3, min_isr=2, acks="all", unclean=True, version="2.7.0",
           loses="isr-of-one-killed"),
    _known("a library that left acks at 1", "fyndiq/confluent_kafka_helpers issue 4",
           replication=2, min_isr=1, acks=1, version="1.0.0",
           loses="leader-killed"),
    _known("a failover test with two brokers", "edenhill/kcat issue 38",
           replication=2, min_isr=1, acks=1, version="0.8.1",
           loses="leader-killed"),
    _known("one replica, and a minimum of two", "faust-streaming/faust issue 390, Kafka 3.2.0",
           replication=1, min_isr=2, acks="all", version="3.2.0",
           unavailable="leader-killed rolling-restart"),

    # --- measured on real brokers for this project ---
    _known("leader cut off, acks=1", "measured on 4.1.1: 1,772 of 10,996 lost",
           replication=3, min_isr=1, acks=1, loses="leader-isolated"),
    _known("leader cut off, acks=all", "measured on 4.1.1: 0 of 7,795 lost",
           replication=3, min_isr=2, acks="all", keeps="leader-isolated"),
    _known("unclean election", "measured on 4.1.1: 502 of 1,401 lost",
           replication=3, min_isr=1, acks="all", unclean=True, loses="isr-of-one-killed"),
    _known("no unclean election", "measured on 4.1.1: no leader in 12 s, 0 of 929 lost",
           replication=3, min_isr=1, acks="all", unavailable="isr-of-one-killed"),
    _known("last replica standing, without ELR", "measured on 4.1.1: 150 of 150 lost; KIP-966",
           replication=3, min_isr=2, acks="all", elr=False, loses="last-replica-power-loss"),
    _known("last replica standing, with ELR", "measured on 4.1.1: 0 of 150 lost; KIP-966",
           replication=3, min_isr=2, acks="all", elr=True, keeps="last-replica-power-loss"),
    _known("last known leader", "KIP-966: elected without the unclean flag where the ELR is empty",
           replication=3, min_isr=1, acks="all", elr=True, loses="last-replica-power-loss"),
    _known("without leader epochs", "measured on 3.9.2 with protocol 0.10.2: lost in 33 of 33 tries; KIP-101",
           replication=3, min_isr=2, acks="all", version="3.9.2", mode="zookeeper", protocol="0.10.2",
           loses="leader-killed"),
    _known("power lost on all", "measured on 4.1.1: tests/cluster/faults/test_disks.py",
           replication=3, min_isr=2, acks="all", loses="power-loss"),
    _known("power lost on all, every record synced", "measured on 4.1.1: tests/cluster/faults/test_disks.py",
           replication=3, min_isr=2, acks="all", flush_messages=1, keeps="power-loss"),

    # --- racks ---
    _known("a replica in each of three racks", "KIP-36: rack-aware replica assignment",
           replication=3, min_isr=2, acks="all", replicas_in_rack=1, keeps="rack-lost"),
    _known("three replicas in two racks", "KIP-36; Kafka documentation: min.insync.replicas",
           replication=3, min_isr=2, acks="all", replicas_in_rack=2, unavailable="rack-lost"),
    _known("all replicas in one rack", "KIP-36; Kafka documentation: flush.messages",
           replication=3, min_isr=2, acks="all", replicas_in_rack=3, loses="rack-lost"),

    # --- availability ---
    _known("a minimum of all replicas", "strimzi/strimzi-kafka-operator pull request 7461: no spare replica",
           replication=3, min_isr=3, acks="all", unavailable="leader-killed leader-isolated rolling-restart"),
    _known("two replicas, a minimum of two", "Kafka documentation, topic configs: min.insync.replicas",
           replication=2, min_isr=2, acks="all", unavailable="leader-killed rolling-restart"),

    # --- producers and consumers ---
    _known("fire and forget", "Kafka documentation, producer configs: acks=0",
           replication=3, min_isr=2, acks=0, loses="leader-killed rolling-restart"),
    _known("librdkafka commits what it hands out", "confluentinc/librdkafka issue 1122",
           replication=3, min_isr=2, commit="auto-asynchronous", auto_offset_reset="earliest",
           loses="consumer-crash"),
    _known("kafka-python's iterator commits what it hands out", "dpkp/kafka-python issue 722",
           replication=3, min_isr=2, commit="auto-asynchronous", auto_offset_reset="earliest",
           loses="consumer-crash"),
    _known("Java's automatic commits, records processed before the next poll", "KAFKA-3824",
           replication=3, min_isr=2, commit="auto", auto_offset_reset="earliest", keeps="consumer-crash"),
    _known("at most once", "Kafka documentation, design: message delivery semantics",
           replication=3, min_isr=2, commit="before-processing", auto_offset_reset="earliest",
           loses="consumer-crash"),
    _known("at least once", "Kafka documentation, design: message delivery semantics",
           replication=3, min_isr=2, commit="after-processing", auto_offset_reset="earliest",
           keeps="consumer-crash"),
    _known("a group that begins at the end", "fyndiq/confluent_kafka_helpers pull request 48; skroutz/rafka issue 52",
           replication=3, min_isr=2, commit="after-processing", auto_offset_reset="latest",
           loses="consumer-crash"),
)
"""At least thirty."""

DOCUMENTED_OTHERWISE = (
    (
        _known("below the minimum with eligible leader replicas", "measured on 4.1.1: examples/test_matrix.py",
               replication=3, min_isr=2, acks=1, unclean=False, loses="isr-of-one-killed"),
        "unclean.leader.election.enable: replicas not in the ISR are elected only with true",
    ),
    (
        _known("unclean elections in KRaft before 3.9", "KAFKA-12670: the setting had no effect",
               replication=3, min_isr=1, acks="all", unclean=True, version="3.8.1", mode="kraft",
               unavailable="isr-of-one-killed"),
        "unclean.leader.election.enable: with true, another replica is elected as a last resort",
    ),
    (
        _known("a minimum that cannot be met", "Partition.effectiveMinIsr: no more than there are replicas",
               replication=1, min_isr=2, acks="all", flush_messages=1, version="4.1.1", keeps="power-loss"),
        "min.insync.replicas: if this minimum cannot be met, the producer will raise an exception",
    ),
)
"""Configurations of which the documentation of a setting says something else, with what it says."""
# fmt: on
