"""Bandwidth: a node sends slowly."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from nemesis.effects.shaping import Shape, queues
from nemesis.event import OPEN, Event
from nemesis.fault import FaultContext, Proof
from nemesis.steps.packets import LIMIT, ShapesPackets
from nemesis.validation import number

MOST_KBIT = 100_000_000.0
"""100 Gbit/s. A higher value is no limit for a node that shares a host with the others."""

BURST = "head -c 200000 /dev/zero > /dev/udp/239.255.0.1/9; true"
"""Sends packets to a multicast address that has no receivers: they leave the node, and no answer comes."""


@dataclass(frozen=True, kw_only=True)
class Bandwidth(ShapesPackets):
    """kbit: kilobits per second that the node may send, to all receivers together."""

    kbit: float = 500

    name = "bandwidth"
    proved_by = "packets had to wait; a burst of test packets makes sure that there are some"
    end_proved_by = "no queueing discipline is left, and the node serves"
    needs = frozenset({"tbf"})

    def __post_init__(self) -> None:
        number("bandwidth kbit", self.kbit, least=8, most=MOST_KBIT)

    @property
    def shape(self) -> Shape:
        return {"kbit": self.kbit}

    def verify_injected(self, context: FaultContext) -> Proof:
        def has_waited() -> bool:
            context.node.shell(BURST)
            return bool(queues(context.node).overlimits)

        waited = context.wait_until(has_waited, LIMIT)
        now = queues(context.node)
        return Proof(waited and "tbf" in now.kind, asdict(now))


def bandwidth(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, kbit: float = 500
) -> Event:
    """The node *sends* no more than ``kbit`` kilobits per second, to all receivers together."""
    return Event.of(Bandwidth(kbit=kbit), target, at=at, after=after, lasting=lasting)
