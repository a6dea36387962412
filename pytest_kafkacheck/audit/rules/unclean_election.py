"""A replica is elected that lacks acknowledged records, because the settings allow it."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.mend import ACKS_ALL, CLEAN_ELECTIONS, ELIGIBLE_REPLICAS, MIN_ISR
from pytest_kafkacheck.audit.rule import Rule


def _elects_one_that_lacks_records(c: Configuration, event: str) -> bool:
    """Of replicas that leave the ISR one after another, the first lacks what was written later. It may leave where
    the ISR still has the minimum without it, so where there are more replicas than that."""
    if not c.elects_uncleanly or c.replication == 1 or c.acks == 0:
        return False
    lacks = c.acks == 1 or c.replication > c.minimum
    # An eligible replica that is up is elected first. After a stop of all, one that is not eligible may be up first.
    return lacks and not (c.has_eligible_replicas and event != "last-replica-power-loss")


RULES = (
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
