"""Loss: random packets that reach a node are dropped."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.effects.measured_packets import agrees, needed, send
from nemesis.effects.network import counters, filtered
from nemesis.effects.nft import chain
from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.packets import FiltersPackets, peer_of
from nemesis.steps.serving import verify_serving
from nemesis.validation import number

LIMIT = 10.0
"""Seconds in which the share of dropped packets must be as wanted, or no packet be dropped after the heal."""


def chains(percent: float) -> list[str]:
    # The kernel's own random number: some kernels lack the module for `numgen`.
    below = round(percent / 100 * (1 << 32)) - 1
    return [chain("input", ['iifname "eth0" counter', f'iifname "eth0" meta random < {below} counter drop'])]


@dataclass(frozen=True, kw_only=True)
class Loss(FiltersPackets):
    """percent: of the packets from nodes and clients."""

    percent: float = 20

    name = "loss"
    proved_by = "of test datagrams from a peer, that share does not arrive, as the node's kernel counts them"
    end_proved_by = "no rules are left, all test datagrams arrive, and the node serves"
    draw = Draw(weight=1, options=({"percent": 5}, {"percent": 20}, {"percent": 50}))
    takes_nodes_down = False
    needs_peer = True
    resource = filtered("loss", max, chains)

    def __post_init__(self) -> None:
        number("loss percent", self.percent, above=0, most=100)

    def rules(self, context: FaultContext) -> float:  # noqa: ARG002
        return self.percent

    def dropped(self, context: FaultContext) -> int | None:
        counted = counters(context.node, self.resource.name)
        return counted[-1] if counted else None

    def verify_injected(self, context: FaultContext) -> Proof:
        if needed(self.percent / 100) is None:
            return Proof(
                False, {"unmeasured": f"{self.percent:g}% are too few to be distinguished from none"}
            )
        is_lossy, evidence = self._measure(context, contradictions=2)
        return Proof(is_lossy and bool(self.dropped(context)), {**evidence, "dropped": self.dropped(context)})

    def verify_passing(self, context: FaultContext) -> Proof:
        is_as_wanted, evidence = self._measure(context, contradictions=None)
        if not is_as_wanted and not context.others:
            return Proof(False, evidence)
        served = verify_serving(context)
        return Proof(served.effective, {**evidence, **served.evidence})

    def _measure(
        self, context: FaultContext, *, contradictions: int | None
    ) -> tuple[bool, dict[str, object]]:
        """Whether the share of lost packets is the one that all events want together, and the evidence of it.

        contradictions  measurements of another share after which to give up; None to go on until the time is up.
        """
        peer = peer_of(context)
        evidence: dict[str, object] = {}
        is_as_wanted, contradicted = False, 0

        def is_decided() -> bool:
            nonlocal is_as_wanted, contradicted
            wanted = context.resources.wanted(self.resource, context.node_id) or 0.0
            share = wanted / 100
            number = needed(share or self.percent / 100) or 0
            if peer is not None:
                passed = send(peer, context.node, number)
                seen, lost = passed.sent, passed.sent - passed.arrived
            elif share:
                seen, lost = counters(context.node, self.resource.name) or (0, 0)
            else:
                seen, lost = number, 0  # the rules that could drop something are gone
            evidence.update(
                peer=peer.id if peer else None, packets=seen, lost=lost, percent=_percent(lost, seen)
            )
            is_measured = seen >= number
            is_as_wanted = is_measured and agrees(seen, lost, share)
            contradicted += is_measured and not is_as_wanted
            return is_as_wanted or contradicted == contradictions

        context.wait_until(is_decided, LIMIT)
        return is_as_wanted, evidence


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None


def loss(
    target: str | int, *, lasting: float = OPEN, at: float = 0, after: str | None = None, percent: float = 20
) -> Event:
    """That percentage of the packets *to* the node is dropped, those of clients included."""
    return Event.of(Loss(percent=percent), target, at=at, after=after, lasting=lasting)
