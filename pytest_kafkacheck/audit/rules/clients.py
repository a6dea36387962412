"""Rules about clients: what producers take for written, what is refused, and what consumers skip."""

from __future__ import annotations

from pytest_kafkacheck.audit.events import BROKER_EVENTS
from pytest_kafkacheck.audit.rule import (
    ACKS_ALL,
    CLEAN_ELECTIONS,
    COMMIT_AFTER,
    ELIGIBLE_REPLICAS,
    MIN_ISR,
    RESET_EARLIEST,
    SPARE_REPLICA,
    TWO_SPARE_REPLICAS,
    Rule,
)

ACKS = "Kafka documentation, producer configs: acks"

ACKNOWLEDGEMENT = (
    Rule(
        name="no-acknowledgement",
        events=BROKER_EVENTS,
        effect="loses",
        applies=lambda c, _: c.acks == 0,
        why="acks=0: the producer takes a record for written once it is in its socket; no broker confirms it",
        mends=(ACKS_ALL, MIN_ISR),
        sources=(ACKS,),
    ),
    Rule(
        name="acknowledged-before-replication",
        events=(
            "leader-killed", "leader-wiped", "power-loss-one", "power-loss", "rack-lost", "rolling-restart",
            "two-killed",
        ),
        effect="loses",
        applies=lambda c, _: c.acks == 1 and c.replication > 1,
        why="acks=1 is answered before any follower has the record, so the next leader may lack it",
        mends=(ACKS_ALL, MIN_ISR),
        sources=(ACKS, "KIP-101: the old leader truncates its log to that of the new one"),
    ),
    Rule(
        name="acknowledged-before-a-planned-change",
        events=("leader-moved",),
        effect="loses",
        applies=lambda c, _: c.acks == 1 and c.replication > 1,
        why="acks=1 is answered before any follower has the record; a planned change does not wait for the "
        "last ones, and the old leader truncates its log to that of the new one",
        mends=(ACKS_ALL,),
        sources=(
            ACKS,
            "KAFKA-20554: expected behaviour, also in a controlled shutdown",
            "measured on Kafka 4.1.1, leadership moved every two seconds, followers at first two seconds behind: "
            "659 of 2,788 acknowledged writes lost",
        ),
    ),
    Rule(
        name="zombie-leader",
        events=("leader-isolated",),
        effect="loses",
        applies=lambda c, _: c.acks == 1 and c.replication > 1,
        why="a leader that is cut off goes on answering acks=1 until it learns of its successor, and then truncates "
        "its log",
        mends=(ACKS_ALL, MIN_ISR),
        sources=(
            ACKS,
            "measured on Kafka 4.1.1, leader cut off for 24 s: 1,772 of 10,996 acknowledged writes lost",
        ),
    ),
    Rule(
        name="acknowledged-below-minimum",
        events=("isr-of-one-killed", "last-replica-power-loss"),
        effect="loses",
        applies=lambda c, _: c.acks == 1 and c.has_eligible_replicas,
        why="acks=1 is answered also below min.insync.replicas={c.min_isr}, while a replica that left the ISR then "
        "stays eligible and is elected, also with unclean.leader.election.enable=false",
        mends=(ACKS_ALL,),
        sources=("KIP-966: eligible leader replicas", "measured on Kafka 4.1.1: examples/test_matrix.py"),
    ),
    Rule(
        name="acknowledged-alone",
        events=("isr-of-one-wiped", "last-replica-power-loss"),
        effect="loses",
        applies=lambda c, event: (
            c.replication > 1
            and (c.acks == 1 or (c.acks == "all" and c.minimum == 1))
            and not (event == "last-replica-power-loss" and c.syncs)
        ),
        why="acks={c.acks} with min.insync.replicas={c.min_isr} is answered while the leader is the only in-sync "
        "replica; nothing else has these records",
        mends=(ACKS_ALL, MIN_ISR, ELIGIBLE_REPLICAS, CLEAN_ELECTIONS),
        sources=("Kafka documentation, topic configs: min.insync.replicas",),
    ),
)  # fmt: skip
"""What a producer takes for written: by nobody's word, by the leader's alone, or by that of all in-sync replicas."""

MINIMUM = "Kafka documentation, topic configs: min.insync.replicas"

AVAILABILITY = (
    Rule(
        name="minimum-above-replication",
        events=BROKER_EVENTS,
        effect="unavailable",
        applies=lambda c, _: c.acks == "all" and c.min_isr > c.replication and not c.caps_minimum,
        why="min.insync.replicas={c.min_isr} is above the replication factor {c.replication}: Kafka {c.version} "
        "refuses all writes with acks=all, with or without this event",
        until="one of the two settings is changed",
        mends=(MIN_ISR,),
        sources=(MINIMUM, "faust-streaming/faust issue 390: NotEnoughReplicas on Kafka 3.2.0"),
    ),
    Rule(
        name="no-spare-replica",
        events=("leader-killed", "leader-isolated", "leader-wiped", "power-loss-one", "rolling-restart"),
        effect="unavailable",
        applies=lambda c, _: c.replication > 1 and c.acks == "all" and c.survivors < c.minimum,
        why="min.insync.replicas={c.min_isr} of {c.replication} replicas: without one of them, writes are refused",
        until="the replica is in sync again",
        mends=(SPARE_REPLICA,),
        sources=(MINIMUM,),
    ),
    Rule(
        name="no-two-spare-replicas",
        events=("two-killed",),
        effect="unavailable",
        applies=lambda c, _: (
            c.replication == 2 or (c.replication > 2 and c.acks == "all" and c.replication - 2 < c.minimum)
        ),
        why="min.insync.replicas={c.min_isr} of {c.replication} replicas: without two of them, writes are refused",
        until="enough replicas are in sync again",
        mends=(TWO_SPARE_REPLICAS,),
        sources=(MINIMUM,),
    ),
    Rule(
        name="below-minimum",
        events=("isr-of-one-killed", "isr-of-one-wiped"),
        effect="unavailable",
        applies=lambda c, _: c.replication > 1 and c.acks == "all" and c.minimum > 1,
        why="fewer than min.insync.replicas={c.min_isr} are in sync, so writes with acks=all are refused",
        until="enough replicas are in sync again",
        sources=(MINIMUM, "measured on Kafka 4.1.1: NotEnoughReplicas within 2 to 10 ms"),
    ),
    Rule(
        name="no-leader",
        events=("isr-of-one-killed", "isr-of-one-wiped"),
        effect="unavailable",
        applies=lambda c, _: (
            c.replication > 1
            and not c.elects_uncleanly
            and not c.has_eligible_replicas
            and not c.ignores_unclean
        ),
        why="the only in-sync replica is down, and unclean.leader.election.enable={c.unclean_text} lets no other "
        "one lead: neither writes nor reads",
        until="it is back",
        mends=(MIN_ISR,),
        sources=(
            "Kafka documentation, topic configs: unclean.leader.election.enable",
            "measured on Kafka 4.1.1: no leader in 12 s, 0 of 929 acknowledged writes lost",
        ),
    ),
    Rule(
        name="unclean-election-ignored",
        events=("isr-of-one-killed", "isr-of-one-wiped"),
        effect="unavailable",
        applies=lambda c, _: c.replication > 1 and c.ignores_unclean,
        why="the only in-sync replica is down, and KRaft before 3.9 elects no other one, whatever "
        "unclean.leader.election.enable says: neither writes nor reads",
        until="it is back, or an election is requested by kafka-leader-election --election-type UNCLEAN",
        mends=(MIN_ISR,),
        sources=("KAFKA-12670: unclean.leader.election.enable in KRaft, since 3.9",),
    ),
)
"""What is refused so that nothing is lost."""

EVENTS = ("consumer-crash",)
SEMANTICS = "Kafka documentation, design: message delivery semantics"
RESET = "Kafka documentation, consumer configs: auto.offset.reset"
RETENTION = "Kafka documentation, broker configs: offsets.retention.minutes; KIP-211"

CONSUMERS = (
    Rule(
        name="committed-before-processing",
        events=EVENTS,
        effect="loses",
        applies=lambda c, _: c.commit == "before-processing",
        why="the position is committed before the records are processed; the successor begins behind them",
        mends=(COMMIT_AFTER,),
        sources=(SEMANTICS,),
    ),
    Rule(
        name="committed-while-processing",
        events=EVENTS,
        effect="loses",
        applies=lambda c, _: c.commit == "auto-asynchronous",
        why="enable.auto.commit=true commits what was polled before, also where the program has not processed it yet",
        mends=(COMMIT_AFTER,),
        sources=("Kafka documentation, KafkaConsumer: automatic offset committing", "KAFKA-2942"),
    ),
    Rule(
        name="skips-without-position",
        events=EVENTS,
        effect="loses",
        applies=lambda c, _: c.auto_offset_reset == "latest",
        why="auto.offset.reset=latest: after a crash before the first commit, or where the committed position has "
        "expired, the successor begins at the end and skips what was written meanwhile",
        mends=(RESET_EARLIEST,),
        sources=(RESET, "measured on Kafka 4.1.1: docs/workloads.md, auto.offset.reset=latest"),
    ),
    Rule(
        name="commits-not-known",
        events=EVENTS,
        effect="unknown",
        applies=lambda c, _: c.commit is None,
        why="it is not known when consumers commit their position",
        sources=(SEMANTICS,),
    ),
    Rule(
        name="reset-not-known",
        events=EVENTS,
        effect="unknown",
        applies=lambda c, _: c.auto_offset_reset is None,
        why="it is not known where consumers begin without a committed position (auto.offset.reset; by default at "
        "the end, which skips records)",
        sources=(RESET,),
    ),
    Rule(
        name="skips-after-expiry",
        events=("group-away",),
        effect="loses",
        applies=lambda c, _: c.auto_offset_reset == "latest",
        why="auto.offset.reset=latest: after {c.offsets_retention_text} without members the committed positions are "
        "removed, and the group begins at the end: it skips what was written meanwhile",
        mends=(RESET_EARLIEST,),
        sources=(RESET, RETENTION),
    ),
    Rule(
        name="stops-after-expiry",
        events=("group-away",),
        effect="unavailable",
        applies=lambda c, _: c.auto_offset_reset == "none",
        why="auto.offset.reset=none: after {c.offsets_retention_text} without members the committed positions are "
        "removed, and the consumer ends with an error",
        until="the program chooses a position",
        mends=(RESET_EARLIEST,),
        sources=(RESET, RETENTION),
    ),
    Rule(
        name="expiry-not-known",
        events=("group-away",),
        effect="unknown",
        applies=lambda c, _: c.auto_offset_reset is None,
        why="a group that is away for longer than {c.offsets_retention_text} begins by auto.offset.reset, which is "
        "not known (by default at the end, which skips records)",
        mends=(RESET_EARLIEST,),
        sources=(RESET, RETENTION),
    ),
    Rule(
        name="processed-again",
        events=("group-away",),
        effect="keeps",
        applies=lambda c, _: c.auto_offset_reset == "earliest",
        why="auto.offset.reset=earliest: after {c.offsets_retention_text} without members, all records that are "
        "there are processed again",
        sources=(RESET, RETENTION),
    ),
    Rule(
        name="processed-twice",
        events=EVENTS,
        effect="keeps",
        applies=lambda c, _: c.commit in ("after-processing", "auto"),
        why="records after the last commit are processed twice",
        sources=(SEMANTICS,),
    ),
)
"""Which records a crashed consumer's successor begins with."""

DUPLICATES = (
    Rule(
        name="written-twice",
        events=(
            "leader-killed",
            "leader-isolated",
            "rolling-restart",
            "rack-lost",
            "leader-moved",
            "two-killed",
        ),
        effect="keeps",
        applies=lambda c, _: not c.idempotence and c.acks != 0,
        why="enable.idempotence=false: a retry after a lost answer writes the record again, and in another order",
        sources=("KIP-98: idempotent producer", "measured on Kafka 4.1.1: docs/experiments.md, duplicates"),
    ),
)
"""Records that are written twice: nothing is lost, and the log is not what was sent."""

RULES = (*ACKNOWLEDGEMENT, *AVAILABILITY, *CONSUMERS, *DUPLICATES)
