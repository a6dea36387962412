"""Races in certain releases. They need luck, so they are notes and no verdicts."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.rule import Rule


def _truncates_committed(c: Configuration, _: str) -> bool:
    fixed = c.number >= (4, 0, 1) or (3, 9, 1) <= c.number < (4, 0, 0)
    return c.replication > 1 and c.number >= (2, 8, 0) and not fixed


RULES = (
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
