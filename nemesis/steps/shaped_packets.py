"""Faults that shape what a node sends, by queueing disciplines of its network interface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nemesis.cluster import Node
from nemesis.effects.shaping import SHAPE, Shape, queues
from nemesis.fault import Fault
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.measured_packets import peer_of
from nemesis.steps.serving import verify_serving

LIMIT = 10.0
"""Seconds in which packets must show the discipline, or show no more of it after the heal."""

MOST_MS = 600_000.0
"""Ten minutes. Every request of Kafka has timed out long before."""


class ShapesPackets(Fault):
    """Subclasses say which shape they want, and how packets show it.

    A node without a peer has nobody to send test packets to: then the discipline's own count of packets must do.
    """

    family = "network"
    takes_nodes_down = False
    needs_peer = True
    needs = frozenset({"netem"})

    @property
    @abstractmethod
    def shape(self) -> Shape: ...

    def inject(self, context: FaultContext) -> None:
        context.resources.want(context.event, context.node_id, SHAPE, self.shape)

    def shows(self, context: FaultContext, peer: Node, shape: Shape) -> tuple[bool, Mapping[str, Any]]:  # noqa: ARG002
        """Whether test packets to the peer show what this fault changes of that shape, and what was measured.

        shape  without the properties of this fault, packets must show that they are as usual.
        """
        return True, {}

    def verify_injected(self, context: FaultContext) -> Proof:
        peer = peer_of(context)
        measured: Mapping[str, Any] = {"peer": "none: only the discipline counts packets"}

        def is_shaped() -> bool:
            nonlocal measured
            if peer is None:
                return queues(context.node).packets > 0
            shape = context.resources.wanted(SHAPE, context.node_id) or self.shape
            has_shown, measured = self.shows(context, peer, shape)
            return has_shown

        has_shown = context.wait_until(is_shaped, LIMIT)
        now = queues(context.node)
        return Proof(has_shown and "netem" in now.kind, {**asdict(now), **measured})

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
        if (peer := peer_of(context)) is not None:
            as_usual = context.wait_until(lambda: self._shows_the_rest(context, peer, evidence), LIMIT)
            if not as_usual and not context.others:
                return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})

    def _shows_the_rest(self, context: FaultContext, peer: Node, evidence: dict[str, Any]) -> bool:
        """Whether packets show what the other faults want, or whether those may prevent the measurement."""
        shape = context.resources.wanted(SHAPE, context.node_id) or {}
        has_shown, measured = self.shows(context, peer, shape)
        evidence.update(measured)
        return has_shown or bool(context.others)
