"""The last in-sync replica leads again, whatever its disk has lost."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.mend import CLEAN_ELECTIONS, ELIGIBLE_REPLICAS
from pytest_kafkacheck.audit.rule import Rule


def _last_one_leads(c: Configuration, event: str) -> bool:
    if c.replication == 1 or c.elects_uncleanly or c.has_eligible_replicas:
        return False
    return event == "isr-of-one-wiped" or not c.syncs


RULES = (
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
