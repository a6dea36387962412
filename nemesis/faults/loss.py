"""Loss: some of the packets that reach a node are dropped, by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.effects.filters import counted, filtered
from nemesis.effects.lease_table import chain
from nemesis.effects.reconciler import Resource
from nemesis.faults.fault import Fault, FaultContext, Proof
from nemesis.faults.serving import serving
from nemesis.validation import number

LIMIT = 10.0
"""Seconds in which a packet must have been lost."""


def _chains(percent: float) -> list[str]:
    # The kernel's own random number; the module for `numgen` is missing in some.
    below = round(percent / 100 * (1 << 32)) - 1
    return [chain("input", [f'iifname "eth0" meta random < {below} counter drop'])]


LOSS: Resource = filtered("loss", max, _chains)


@dataclass(frozen=True, kw_only=True)
class Loss(Fault):
    """percent: of the packets from everybody, clients included."""

    percent: float = 20

    name: ClassVar[str] = "loss"
    down: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"nft"})

    def __post_init__(self) -> None:
        number("loss percent", self.percent, above=0, most=100)

    def inject(self, context: FaultContext) -> None:
        context.desired.want(context.event, context.node, LOSS, self.percent)

    def verify_injected(self, context: FaultContext) -> Proof:
        lost = context.until(lambda: bool(counted(context.process, LOSS.name)), LIMIT)
        return Proof(lost, {"dropped": counted(context.process, LOSS.name)})

    def heal(self, context: FaultContext) -> None:
        try:
            context.notes["dropped"] = counted(context.process, LOSS.name)
        finally:
            context.desired.release(context.event, context.node, LOSS)

    def verify_healed(self, context: FaultContext) -> Proof:
        evidence: dict[str, object] = {"dropped": context.notes.get("dropped")}
        if context.effective and context.notes.get("dropped") is None:
            return Proof(
                False,
                {**evidence, "ended_early": "the rules were gone, or had lapsed, before the fault's end"},
            )
        if (
            context.desired.now(LOSS, context.node) is None
            and counted(context.process, LOSS.name) is not None
        ):
            return Proof(False, {**evidence, "rules_left": True})
        served = serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})
