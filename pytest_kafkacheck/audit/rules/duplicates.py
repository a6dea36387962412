"""Records that are written twice: nothing is lost, and the log is not what was sent."""

from __future__ import annotations

from pytest_kafkacheck.audit.rule import Rule

RULES = (
    Rule(
        name="written-twice",
        events=("leader-killed", "leader-isolated", "rolling-restart", "rack-lost"),
        effect="keeps",
        applies=lambda c, _: not c.idempotence and c.acks != 0,
        why="enable.idempotence=false: a retry after a lost answer writes the record again, and in another order",
        sources=("KIP-98: idempotent producer", "measured on Kafka 4.1.1: docs/experiments.md, duplicates"),
    ),
)
