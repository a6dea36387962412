"""What a producer takes for written: by nobody's word, by the leader's alone, or by that of all in-sync replicas."""

from __future__ import annotations

from pytest_kafkacheck.audit.events import BROKER_EVENTS
from pytest_kafkacheck.audit.mend import ACKS_ALL, CLEAN_ELECTIONS, ELIGIBLE_REPLICAS, MIN_ISR
from pytest_kafkacheck.audit.rule import Rule

ACKS = "Kafka documentation, producer configs: acks"

RULES = (
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
        ),
        effect="loses",
        applies=lambda c, _: c.acks == 1 and c.replication > 1,
        why="acks=1 is answered before any follower has the record, so the next leader may lack it",
        mends=(ACKS_ALL, MIN_ISR),
        sources=(ACKS, "KIP-101: the old leader truncates its log to that of the new one"),
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
