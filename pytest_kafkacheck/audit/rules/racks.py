"""How many replicas of a partition are lost together with a rack."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.mend import RACKS, THREE_CONTROLLERS
from pytest_kafkacheck.audit.rule import Rule

SOURCE = "KIP-36: rack-aware replica assignment"


def _left(c: Configuration) -> int:
    return c.replication - (c.replicas_in_rack or 0)


RULES = (
    Rule(
        name="racks-not-known",
        events=("rack-lost",),
        effect="unknown",
        applies=lambda c, _: c.replication > 1 and c.replicas_in_rack is None,
        why="it is not known in which racks the replicas are; without broker.rack, all of a partition may be in one",
        mends=(RACKS,),
        sources=(SOURCE,),
    ),
    Rule(
        name="rack-with-all-replicas",
        events=("rack-lost",),
        effect="unavailable",
        applies=lambda c, _: c.replication > 1 and c.replicas_in_rack is not None and _left(c) <= 0,
        why="all replicas of a partition lie in one rack",
        until="the rack is back",
        mends=(RACKS,),
        sources=(SOURCE,),
    ),
    Rule(
        name="rack-with-too-many-replicas",
        events=("rack-lost",),
        effect="unavailable",
        applies=lambda c, _: c.acks == "all" and c.replicas_in_rack is not None and 0 < _left(c) < c.minimum,
        why="one rack has {c.replicas_in_rack} of {c.replication} replicas; the others are fewer than "
        "min.insync.replicas={c.min_isr}, so writes are refused",
        until="a replica of the rack is in sync again",
        mends=(RACKS,),
        sources=(SOURCE, "Kafka documentation, topic configs: min.insync.replicas"),
    ),
    Rule(
        name="no-controller-quorum",
        events=("rack-lost",),
        effect="unavailable",
        applies=lambda c, _: c.mode == "kraft" and c.controllers < 3,
        why="controllers: {c.controllers}. Without one of them there is no majority, and nobody elects leaders",
        until="the controller is back",
        mends=(THREE_CONTROLLERS,),
        sources=("Kafka documentation, operations: KRaft, controllers",),
    ),
)
