"""Reassignment: a partition moves to other replicas, and back again at the end."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.event import OPEN, Event
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.targets import Groups, Target
from nemesis.topology import Topology

LIMIT = 60.0
"""Seconds for new replicas to catch up."""


@dataclass(frozen=True, kw_only=True)
class Reassign(Fault):
    """The last replica moves to a broker that has none. Where every broker has one, the first replica becomes the
    last.

    In the second case the preferred leader changes.
    """

    name = "reassign"
    family = "Kafka"
    proved_by = "the new replicas are assigned, and all of them are in sync"
    end_proved_by = "the former replicas are assigned, and all of them are in sync"
    requires = "2 brokers"
    target_family = "partition"
    takes_all_nodes = True
    needs_all_nodes = True
    takes_nodes_down = False
    restores_state = True

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: ARG002
        if len(topology.brokers) < 2:
            raise ValueError("a cluster of one broker has no other place for a replica")

    def inject(self, context: FaultContext) -> None:
        replicas = context.cluster.replicas(*context.log)
        free = sorted(set(context.cluster.brokers) - set(replicas))
        context.notes["replicas"] = replicas
        context.notes["wanted"] = (*replicas[:-1], free[0]) if free else (*replicas[1:], replicas[0])
        context.cluster.kafka.reassign(*context.log, context.notes["wanted"])

    def verify_injected(self, context: FaultContext) -> Proof:
        return _verify_moved(context, context.notes["wanted"], context.notes["replicas"])

    def heal(self, context: FaultContext) -> None:
        if "replicas" in context.notes:
            context.cluster.kafka.reassign(*context.log, context.notes["replicas"])

    def verify_healed(self, context: FaultContext) -> Proof:
        if "replicas" not in context.notes:
            return Proof(True, {"nothing": "the injection failed before it changed anything"})
        return _verify_moved(context, context.notes["replicas"], context.notes["wanted"])


def _verify_moved(context: FaultContext, wanted: tuple[int, ...], before: tuple[int, ...]) -> Proof:
    """Whether exactly these replicas are assigned, and all in sync. A move that goes on has both old and new ones."""
    cluster, log = context.cluster, context.log

    def has_moved() -> bool:
        return cluster.replicas(*log) == wanted and set(cluster.isr(*log)) == set(wanted)

    moved = context.wait_until(has_moved, LIMIT)
    evidence = {"before": list(before), "wanted": list(wanted), "replicas": list(cluster.replicas(*log))}
    return Proof(moved and wanted != before, evidence)


def reassign(
    target: str = "partition", *, lasting: float = OPEN, at: float = 0, after: str | None = None
) -> Event:
    """The last replica moves to a broker that has none, or else the first one becomes the last; back at the end."""
    return Event.of(Reassign(), target, at=at, after=after, lasting=lasting)
