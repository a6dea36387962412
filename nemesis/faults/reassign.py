"""Reassignment: a partition moves to other replicas, and back again at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.targets import Family, Groups, Target
from nemesis.topology import Topology

LIMIT = 60.0
"""Seconds for replicas to catch up in their new place."""


@dataclass(frozen=True, kw_only=True)
class Reassign(Fault):
    """The last replica moves to a broker that has none, or where there is no such broker, the first one to the end.

    So the preferred leader changes where all brokers have a replica.
    """

    name: ClassVar[str] = "reassign"
    puts_back: ClassVar[bool] = True
    strikes: ClassVar[Family] = "partition"
    together: ClassVar[bool] = True
    down: ClassVar[bool] = False

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if len(topology.brokers) < 2:
            raise ValueError("a cluster of one broker has no other place")

    def inject(self, context: FaultContext) -> None:
        replicas = context.cluster.replicas(*context.log)
        free = sorted(set(context.cluster.brokers) - set(replicas))
        context.notes["replicas"] = replicas
        context.notes["wanted"] = (*replicas[:-1], free[0]) if free else (*replicas[1:], replicas[0])
        context.cluster.kafka.reassign(*context.log, context.notes["wanted"])

    def verify_injected(self, context: FaultContext) -> Proof:
        return _moved(context, context.notes["wanted"], context.notes["replicas"])

    def heal(self, context: FaultContext) -> None:
        if "replicas" in context.notes:
            context.cluster.kafka.reassign(*context.log, context.notes["replicas"])

    def verify_healed(self, context: FaultContext) -> Proof:
        if "replicas" not in context.notes:
            return Proof(True, {"nothing": "the injection failed before anything was done"})
        return _moved(context, context.notes["replicas"], context.notes["wanted"])


def _moved(context: FaultContext, wanted: tuple[int, ...], before: tuple[int, ...]) -> Proof:
    """Whether the replicas are those, and all of them in sync; a move under way names both."""
    cluster, log = context.cluster, context.log
    limit = min(LIMIT, max(context.leisure(), 1.0))

    def there() -> bool:
        return cluster.replicas(*log) == wanted and set(cluster.isr(*log)) == set(wanted)

    moved = context.until(there, limit)
    evidence = {"before": list(before), "wanted": list(wanted), "replicas": list(cluster.replicas(*log))}
    return Proof(moved and wanted != before, evidence)
