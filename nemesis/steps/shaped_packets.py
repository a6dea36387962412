"""Faults that shape what a node sends, by queueing disciplines of its network interface."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from typing import Any

from nemesis.effects.shaping import SHAPE, Shape, queues
from nemesis.fault import Fault
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.serving import verify_serving

LIMIT = 10.0
"""Seconds in which a packet must have passed through the discipline."""

MOST_MS = 600_000.0
"""Ten minutes. Every request of Kafka has timed out long before."""


class ShapesPackets(Fault):
    """Subclasses say which shape they want."""

    family = "network"
    proved_by = "the discipline is in place, and packets passed through it"
    takes_nodes_down = False
    needs = frozenset({"netem"})

    @property
    @abstractmethod
    def shape(self) -> Shape: ...

    def inject(self, context: FaultContext) -> None:
        context.resources.want(context.event, context.node_id, SHAPE, self.shape)

    def verify_injected(self, context: FaultContext) -> Proof:
        passed = context.wait_until(lambda: queues(context.node).packets > 0, LIMIT)
        now = queues(context.node)
        return Proof(passed and "netem" in now.kind, asdict(now))

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["sent"] = asdict(queues(context.node))
        finally:
            context.resources.release(context.event, context.node_id, SHAPE)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, Any] = {"sent": context.notes.get("sent")}
        if context.effective and not context.notes["sent"]["kind"]:
            return Proof(False, {**evidence, "ended_early": "the discipline was gone before the fault's end"})
        is_wanted = context.resources.wanted(SHAPE, context.node_id) is not None
        if not is_wanted and (kind := queues(context.node).kind):
            return Proof(False, {**evidence, "left": kind})
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})
