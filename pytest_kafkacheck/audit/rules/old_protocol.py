"""Replication without leader epochs: followers truncate to a high watermark that may be behind."""

from __future__ import annotations

from pytest_kafkacheck.audit.mend import CURRENT_PROTOCOL
from pytest_kafkacheck.audit.rule import Rule

RULES = (
    Rule(
        name="truncation-to-high-watermark",
        events=("leader-killed", "leader-isolated", "rolling-restart"),
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
