"""Brokers acknowledge from memory: the replicas are the protection, not the disk."""

from __future__ import annotations

from pytest_kafkacheck.audit.mend import RACKS, SYNC
from pytest_kafkacheck.audit.rule import Rule

SOURCES = (
    "Kafka documentation, topic configs: flush.messages; operations: application vs. OS flush management",
    "measured on Kafka 4.1.1, power lost on all three brokers: acknowledged records lost by default, none with "
    "flush.messages=1 (tests/cluster/faults/test_disks.py)",
)

RULES = (
    Rule(
        name="not-synced",
        events=("power-loss",),
        effect="loses",
        applies=lambda c, _: not c.syncs,
        why="a record is acknowledged before it is on any disk (flush.messages is not 1), and all replicas lose "
        "their memory at once",
        mends=(SYNC,),
        sources=SOURCES,
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
        sources=(*SOURCES, "KIP-36: rack-aware replica assignment"),
    ),
)
