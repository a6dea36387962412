"""Rules about replicas: which of them have a record, on a disk or not, and which of them may lead."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.rule import (
    ACKS_ALL,
    CLEAN_ELECTIONS,
    CURRENT_PROTOCOL,
    DISKS,
    ELIGIBLE_REPLICAS,
    MIN_ISR,
    RACKS,
    REPLICAS,
    SEPARATE_CONTROLLERS,
    SYNC,
    THREE_VOTERS,
    Rule,
)

FLUSH_SOURCES = (
    "Kafka documentation, topic configs: flush.messages; operations: application vs. OS flush management",
    "measured on Kafka 4.1.1, power lost on all three brokers: acknowledged records lost by default, none with "
    "flush.messages=1 (tests/cluster/faults/test_disks.py)",
)

FLUSH = (
    Rule(
        name="not-synced",
        events=("power-loss",),
        effect="loses",
        applies=lambda c, _: not c.syncs,
        why="a record is acknowledged before it is on any disk (flush.messages is not 1), and all replicas lose "
        "their memory at once",
        mends=(SYNC,),
        sources=FLUSH_SOURCES,
    ),
    Rule(
        name="not-synced-in-one-rack",
        events=("rack-lost",),
        effect="loses",
        applies=lambda c, _: (
            c.replication > 1
            and not c.syncs
            and c.replicas_in_rack is not None
            and c.replicas_in_rack >= c.replication
        ),
        why="all replicas of a partition lie in one rack, and a record is acknowledged before it is on any disk",
        mends=(RACKS,),
        sources=(*FLUSH_SOURCES, "KIP-36: rack-aware replica assignment"),
    ),
    Rule(
        name="bounded-by-flushes",
        events=("power-loss", "power-loss-one", "last-replica-power-loss", "rack-lost"),
        effect="keeps",
        applies=lambda c, _: bool(c.flush_bound_text),
        why="{c.flush_bound_text}",
        sources=(
            "Kafka documentation, broker configs: log.flush.interval.ms, log.flush.scheduler.interval.ms",
        ),
    ),
)
"""Brokers acknowledge from memory: the replicas are the protection, not the disk."""


def _truncates_committed(c: Configuration, _: str) -> bool:
    fixed = c.number >= (4, 0, 1) or (3, 9, 1) <= c.number < (4, 0, 0)
    return c.replication > 1 and c.number >= (2, 8, 0) and not fixed


KNOWN_BUGS = (
    Rule(
        name="stale-truncation",
        events=("leader-killed", "rolling-restart"),
        effect="keeps",
        applies=_truncates_committed,
        why="Kafka {c.version}: a late answer to a fetch may make a follower remove committed records; fixed in "
        "3.9.1, 4.0.1 and 4.1.0",
        sources=("KAFKA-18991",),
    ),
    Rule(
        name="returns-into-isr",
        events=("leader-wiped", "power-loss-one"),
        effect="keeps",
        applies=lambda c, _: c.replication > 1 and c.number < ((4, 0, 0) if c.mode == "kraft" else (3, 5, 0)),
        why="Kafka {c.version}: a broker that comes back without its records may for a moment still be in the ISR, "
        "and be elected; fixed in 3.5.0 for ZooKeeper, in 4.0.0 for KRaft",
        sources=("KIP-903, KAFKA-14617", "KAFKA-18106"),
    ),
)
"""Races in certain releases. They need luck, so they are notes and no verdicts."""


def _last_one_leads(c: Configuration, event: str) -> bool:
    if c.replication == 1 or c.elects_uncleanly or c.has_eligible_replicas:
        return False
    return event == "isr-of-one-wiped" or not c.syncs


LAST_REPLICA = (
    Rule(
        name="last-replica-standing",
        events=("isr-of-one-wiped", "last-replica-power-loss"),
        effect="loses",
        applies=_last_one_leads,
        why="only the last in-sync replica may lead, also when its disk has lost records; the others truncate their "
        "logs to what it still has",
        mends=(ELIGIBLE_REPLICAS, CLEAN_ELECTIONS),
        sources=(
            "KIP-966: the last replica standing",
            "measured on Kafka 4.1.1, min.insync.replicas=2: 150 of 150 acknowledged writes lost without eligible "
            "leader replicas, 0 with them",
        ),
    ),
)
"""The last in-sync replica leads again, whatever its disk has lost."""

OLD_PROTOCOL = (
    Rule(
        name="truncation-to-high-watermark",
        events=("leader-killed", "leader-isolated", "rolling-restart", "leader-moved", "two-killed"),
        effect="loses",
        applies=lambda c, _: c.replication > 1 and c.protocol_number < (0, 11, 0),
        why="inter.broker.protocol.version={c.protocol_text} has no leader epochs: an in-sync follower truncates "
        "acknowledged records after any election, and may lead next",
        mends=(CURRENT_PROTOCOL,),
        sources=(
            "KIP-101, KAFKA-1211: fixed in 0.11.0",
            "measured on Kafka 3.9.2 with this protocol, acks=all and min.insync.replicas=2: lost in 33 of 33 tries",
        ),
    ),
    Rule(
        name="divergence-after-failovers",
        events=("isr-of-one-killed",),
        effect="keeps",
        applies=lambda c, _: c.replication > 1 and (0, 11, 0) <= c.protocol_number < (2, 0, 0),
        why="inter.broker.protocol.version={c.protocol_text}: after two unclean failovers in a row, in-sync replicas "
        "may hold different records at the same offsets",
        mends=(CURRENT_PROTOCOL,),
        sources=(
            "KIP-279, KAFKA-6361: fixed in 2.0",
            "measured on Kafka 3.9.2 with protocol 1.1: replicas differed in 5 of 5 tries",
        ),
    ),
)
"""Replication without leader epochs: followers truncate to a high watermark that may be behind."""

RACK_AWARE = "KIP-36: rack-aware replica assignment"
QUORUM = "Kafka documentation, operations: KRaft, controllers; ZooKeeper: ensembles need a majority"
STALLED = "the claim D5 of kafkacheck scenarios: without a majority of controllers nothing is elected"
EPHEMERAL = "documentation of Strimzi: ephemeral storage; of Kubernetes: emptyDir; of Docker: volumes"


def _left(c: Configuration) -> int:
    return c.replication - (c.replicas_in_rack or 0)


RACK_LOST = (
    Rule(
        name="racks-not-known",
        events=("rack-lost",),
        effect="unknown",
        applies=lambda c, _: c.replication > 1 and c.replicas_in_rack is None,
        why="it is not known in which racks the replicas are; without broker.rack, all of a partition may be in one",
        mends=(RACKS,),
        sources=(RACK_AWARE,),
    ),
    Rule(
        name="rack-with-all-replicas",
        events=("rack-lost",),
        effect="unavailable",
        applies=lambda c, _: c.replication > 1 and c.replicas_in_rack is not None and _left(c) <= 0,
        why="all replicas of a partition lie in one rack",
        until="the rack is back",
        mends=(RACKS,),
        sources=(RACK_AWARE,),
    ),
    Rule(
        name="rack-with-too-many-replicas",
        events=("rack-lost",),
        effect="unavailable",
        applies=lambda c, _: c.acks == "all" and c.replicas_in_rack is not None and 0 < _left(c) < c.minimum,
        why="one rack has {c.replicas_in_rack} of {c.replication} replicas; the others are fewer than "
        "min.insync.replicas={c.min_isr}, so writes are refused",
        until="a replica of the rack is in sync again",
        mends=(RACKS,),
        sources=(RACK_AWARE, "Kafka documentation, topic configs: min.insync.replicas"),
    ),
    Rule(
        name="no-controller-quorum",
        events=("rack-lost",),
        effect="unavailable",
        applies=lambda c, _: not c.has_majority_without((c.replicas_in_rack or 1) if c.is_combined else 1),
        why="{c.voters_text}: {c.voters}. Without those of the rack there is no majority, and nobody elects leaders",
        until="the rack is back",
        mends=(THREE_VOTERS, SEPARATE_CONTROLLERS),
        sources=(QUORUM,),
    ),
)
"""How many replicas of a partition are lost together with a rack."""

ONE_NODE = (
    "leader-killed", "leader-isolated", "isr-of-one-killed", "isr-of-one-wiped", "leader-wiped", "power-loss-one",
    "rolling-restart",
)  # fmt: skip
"""Events that stop or isolate one broker, and with it a voter where brokers are voters."""

VOTERS = (
    Rule(
        name="voter-down",
        events=ONE_NODE,
        effect="unavailable",
        applies=lambda c, _: c.is_combined and not c.has_majority_without(1),
        why="the broker may be a voter as well, and a quorum of {c.controllers} without it has no majority: no "
        "elections, no registrations, no changes of the ISR",
        until="it is back",
        mends=(THREE_VOTERS,),
        sources=(QUORUM, STALLED),
    ),
    Rule(
        name="two-voters-down",
        events=("two-killed",),
        effect="unavailable",
        applies=lambda c, _: c.is_combined and not c.has_majority_without(2),
        why="both brokers may be voters as well, and a quorum of {c.controllers} without two has no majority: no "
        "elections, no registrations, no changes of the ISR",
        until="one of them is back",
        mends=(SEPARATE_CONTROLLERS,),
        sources=(QUORUM, STALLED),
    ),
    Rule(
        name="only-voter-wiped",
        events=("leader-wiped", "isr-of-one-wiped"),
        effect="loses",
        applies=lambda c, _: c.keeps_metadata_once,
        why="the broker may be the only controller as well; with its disk, the metadata of all topics is lost",
        mends=(THREE_VOTERS,),
        sources=(QUORUM,),
    ),
)
"""What a broker's end does to the quorum of controllers."""

RESTARTS = (
    Rule(
        name="restart-empties-the-only-copy",
        events=("rolling-restart",),
        effect="loses",
        applies=lambda c, _: c.storage == "ephemeral" and c.replication == 1,
        why="the disk goes with the container or pod: an operator's restart, and a drained node, delete the only "
        "replica",
        mends=(DISKS,),
        sources=(EPHEMERAL,),
    ),
    Rule(
        name="restart-empties-the-only-voter",
        events=("rolling-restart",),
        effect="loses",
        applies=lambda c, _: c.mode == "kraft" and c.metadata_storage == "ephemeral" and c.controllers == 1,
        why="the disk of the only controller goes with its container or pod, and with it the metadata of all topics",
        mends=(DISKS,),
        sources=(EPHEMERAL, QUORUM),
    ),
    Rule(
        name="restart-empties-a-copy",
        events=("rolling-restart",),
        effect="keeps",
        applies=lambda c, _: c.storage == "ephemeral" and c.replication > 1,
        why="the disk goes with the container or pod: each restart deletes a replica. One at a time, the others have "
        "its records; whoever does not wait until all are in sync again deletes the last one",
        mends=(DISKS,),
        sources=(EPHEMERAL,),
    ),
    Rule(
        name="stops-like-a-crash",
        events=("rolling-restart",),
        effect="keeps",
        applies=lambda c, _: not c.controlled_shutdown and c.replication > 1,
        why="controlled.shutdown.enable=false: a planned stop is a crash. Leadership moves only once the controller "
        "misses the broker",
        sources=("Kafka documentation, broker configs: controlled.shutdown.enable",),
    ),
)
"""Stops that are planned."""

REPLICATION = "Kafka documentation, design: replication"

SINGLE_REPLICA = (
    Rule(
        name="only-copy-wiped",
        events=("leader-wiped", "isr-of-one-wiped"),
        effect="loses",
        applies=lambda c, _: c.replication == 1,
        why="the only replica is on the lost disk",
        mends=(REPLICAS, ELIGIBLE_REPLICAS),
        sources=(REPLICATION,),
    ),
    Rule(
        name="only-copy-not-synced",
        events=("power-loss-one", "last-replica-power-loss", "rack-lost"),
        effect="loses",
        applies=lambda c, _: c.replication == 1 and not c.syncs,
        why="the only replica is acknowledged from memory; what is not synced is gone",
        mends=(REPLICAS, ELIGIBLE_REPLICAS),
        sources=(REPLICATION, "Kafka documentation, topic configs: flush.messages"),
    ),
    Rule(
        name="only-copy-down",
        events=(
            "leader-killed",
            "leader-isolated",
            "isr-of-one-killed",
            "power-loss-one",
            "rack-lost",
            "rolling-restart",
            "two-killed",
        ),
        effect="unavailable",
        applies=lambda c, _: c.replication == 1,
        why="no other replica can lead",
        until="its broker is back",
        mends=(REPLICAS,),
        sources=(REPLICATION,),
    ),
)
"""A partition that exists once."""


def _elects_one_that_lacks_records(c: Configuration, event: str) -> bool:
    """Of replicas that leave the ISR one after another, the first lacks what was written later. It may leave where
    the ISR still has the minimum without it, so where there are more replicas than that."""
    if not c.elects_uncleanly or c.replication == 1 or c.acks == 0:
        return False
    lacks = c.acks == 1 or c.replication > c.minimum
    # An eligible replica that is up is elected first. After a stop of all, one that is not eligible may be up first.
    return lacks and not (c.has_eligible_replicas and event != "last-replica-power-loss")


UNCLEAN_ELECTION = (
    Rule(
        name="unclean-election",
        events=("isr-of-one-killed", "isr-of-one-wiped", "last-replica-power-loss"),
        effect="loses",
        applies=_elects_one_that_lacks_records,
        why="unclean.leader.election.enable=true: a replica is elected that left the ISR and lacks what was "
        "acknowledged since",
        mends=(CLEAN_ELECTIONS, ACKS_ALL, MIN_ISR, ELIGIBLE_REPLICAS),
        sources=(
            "Kafka documentation, topic configs: unclean.leader.election.enable",
            "measured on Kafka 4.1.1 with acks=all and min.insync.replicas=1: 502 of 1,401 acknowledged writes lost",
        ),
    ),
)
"""A replica is elected that lacks acknowledged records, because the settings allow it."""

RULES = (
    *FLUSH, *KNOWN_BUGS, *LAST_REPLICA, *OLD_PROTOCOL, *RACK_LOST, *VOTERS, *RESTARTS, *SINGLE_REPLICA,
    *UNCLEAN_ELECTION,
)  # fmt: skip
