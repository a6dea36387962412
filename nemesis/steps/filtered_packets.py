"""Faults that drop packets at a node by an nft table of their own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from nemesis.effects.filters import counted
from nemesis.effects.reconciler import Resource
from nemesis.fault import Fault
from nemesis.fault_context import FaultContext, Proof


class FiltersPackets(Fault):
    """resource: the nft table, made by `nemesis.effects.filters.filtered`."""

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
