"""Loss: random packets that reach a node are dropped."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.filters import filtered
from nemesis.effects.lease_table import chain
from nemesis.event import OPEN, Event
from nemesis.fault import Draw
from nemesis.fault_context import FaultContext, Proof
from nemesis.steps.filtered_packets import FiltersPackets
from nemesis.steps.serving import verify_serving
from nemesis.validation import number

LIMIT = 10.0
"""Seconds in which a packet must have been dropped."""


def _chains(percent: float) -> list[str]:
    # The kernel's own random number: some kernels lack the module for `numgen`.
    below = round(percent / 100 * (1 << 32)) - 1
    return [chain("input", [f'iifname "eth0" meta random < {below} counter drop'])]


@dataclass(frozen=True, kw_only=True)
class Loss(FiltersPackets):
    """percent: of the packets from nodes and clients."""

    percent: float = 20

    name = "loss"
    proved_by = "packets were dropped"
    draw = Draw(weight=1, options=({"percent": 5}, {"percent": 20}, {"percent": 50}))
    takes_nodes_down = False
    resource = filtered("loss", max, _chains)

    def __post_init__(self) -> None:
        number("loss percent", self.percent, above=0, most=100)

    def rules(self, context: FaultContext) -> float:  # noqa: ARG002
        return self.percent

    def verify_injected(self, context: FaultContext) -> Proof:
        is_lossy = context.wait_until(lambda: bool(self.dropped(context)), LIMIT)
        return Proof(is_lossy, {"dropped": self.dropped(context)})

    def verify_passing(self, context: FaultContext) -> Proof:
        return verify_serving(context)


def loss(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, percent: float = 20
) -> Event:
    """That percentage of the packets *to* the node is dropped, those of clients included."""
    return Event.of(Loss(percent=percent), target, at=at, after=after, lasting=lasting)
