"""Loss: some of the packets that reach a node are dropped, by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from nemesis.desired import Resource
from nemesis.faults.checked import number
from nemesis.faults.fault import Fault, Proof, Strike
from nemesis.faults.serving import serving
from nemesis.filters import counted, filtered
from nemesis.table import chain

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

    def inject(self, strike: Strike) -> None:
        strike.desired.want(strike.event, strike.node, LOSS, self.percent)

    def verify_injected(self, strike: Strike) -> Proof:
        lost = strike.until(lambda: bool(counted(strike.process, LOSS.name)), LIMIT)
        return Proof(lost, {"dropped": counted(strike.process, LOSS.name)})

    def heal(self, strike: Strike) -> None:
        try:
            strike.notes["dropped"] = counted(strike.process, LOSS.name)
        finally:
            strike.desired.release(strike.event, strike.node, LOSS)

    def verify_healed(self, strike: Strike) -> Proof:
        evidence: dict[str, object] = {"dropped": strike.notes.get("dropped")}
        if strike.effective and strike.notes.get("dropped") is None:
            return Proof(
                False,
                {**evidence, "ended_early": "the rules were gone, or had lapsed, before the fault's end"},
            )
        if strike.desired.now(LOSS, strike.node) is None and counted(strike.process, LOSS.name) is not None:
            return Proof(False, {**evidence, "rules_left": True})
        served = serving(strike)
        return Proof(served.effective, {**evidence, **served.evidence})
