"""What is refused so that nothing is lost."""

from __future__ import annotations

from pytest_kafkacheck.audit.events import BROKER_EVENTS
from pytest_kafkacheck.audit.mend import MIN_ISR, SPARE_REPLICA
from pytest_kafkacheck.audit.rule import Rule

MINIMUM = "Kafka documentation, topic configs: min.insync.replicas"

RULES = (
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
