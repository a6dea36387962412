"""Faults of packets: they drop packets at a node by an nft table of their own, or shape what the node sends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from nemesis.cluster import Node
from nemesis.effects.network import counted
from nemesis.effects.reconciler import Resource
from nemesis.effects.shaping import SHAPE, Shape, queues
from nemesis.fault import Fault, FaultContext, Proof
from nemesis.steps.serving import verify_serving


class FiltersPackets(Fault):
    """resource: the nft table, made by `nemesis.effects.network.filtered`."""

    family = "network"
    needs = frozenset({"nft"})
    resource: ClassVar[Resource]

    @abstractmethod
    def rules(self, context: FaultContext) -> Any:
        """The value that this fault wants of the resource."""

    @abstractmethod
    def verify_passing(self, context: FaultContext) -> Proof:
        """Whether packets pass again. Called when the rules are as they should be after the heal."""

    def inject(self, context: FaultContext) -> None:
        context.resources.want(context.event, context.node_id, self.resource, self.rules(context))

    def dropped(self, context: FaultContext) -> int | None:
        """Packets that were dropped so far; None where no rules are in force."""
        return counted(context.node, self.resource.name)

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["dropped"] = self.dropped(context)
        finally:
            context.resources.release(context.event, context.node_id, self.resource)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"dropped": context.notes.get("dropped")}
        if context.effective and context.notes.get("dropped") is None:
            early = "the rules were gone, or had lapsed, before the fault's end"
            return Proof(False, {**evidence, "ended_early": early})
        is_wanted = context.resources.wanted(self.resource, context.node_id) is not None
        if not is_wanted and self.dropped(context) is not None:
            return Proof(False, {**evidence, "rules_left": True})
        passing = self.verify_passing(context)
        return Proof(passing.effective, {**evidence, **passing.evidence})


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


def peer_of(context: FaultContext) -> Node | None:
    """A node that is not cut off from the target, if possible one that no fault works at; None for none."""
    cut = {frozenset({cut.receiver, cut.sender}) for cut in context.network.cuts}
    reached = [
        number
        for number in sorted(context.cluster.nodes)
        if number != context.node_id and frozenset({number, context.node_id}) not in cut
    ]

    def is_disturbed(number: int) -> bool:
        # Its own loss or bandwidth would drop test packets, and a process that does not run accepts no connection.
        return context.resources.has_wishes(number) or context.processes.wanted(number) != "running"

    return (
        context.cluster.nodes[min(reached, key=lambda number: (is_disturbed(number), number))]
        if reached
        else None
    )
