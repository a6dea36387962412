"""A partition that exists once."""

from __future__ import annotations

from pytest_kafkacheck.audit.mend import ELIGIBLE_REPLICAS, REPLICAS
from pytest_kafkacheck.audit.rule import Rule

SOURCE = "Kafka documentation, design: replication"

RULES = (
    Rule(
        name="only-copy-wiped",
        events=("leader-wiped", "isr-of-one-wiped"),
        effect="loses",
        applies=lambda c, _: c.replication == 1,
        why="the only replica is on the lost disk",
        mends=(REPLICAS, ELIGIBLE_REPLICAS),
        sources=(SOURCE,),
    ),
    Rule(
        name="only-copy-not-synced",
        events=("power-loss-one", "last-replica-power-loss", "rack-lost"),
        effect="loses",
        applies=lambda c, _: c.replication == 1 and not c.syncs,
        why="the only replica is acknowledged from memory; what is not synced is gone",
        mends=(REPLICAS, ELIGIBLE_REPLICAS),
        sources=(SOURCE, "Kafka documentation, topic configs: flush.messages"),
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
        ),
        effect="unavailable",
        applies=lambda c, _: c.replication == 1,
        why="no other replica can lead",
        until="its broker is back",
        mends=(REPLICAS,),
        sources=(SOURCE,),
    ),
)
