"""Isolate client: no packet passes between a client process and brokers, or none in one direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from nemesis.event import OPEN, Event
from nemesis.fault import Draw, FaultContext, Proof
from nemesis.steps.processes import CLIENT_LIMIT, AffectsClient
from nemesis.targets import Groups, Target, brokers_only, check
from nemesis.topology import Topology
from nemesis.validation import choice

Way = Literal["in", "out"]

WRONG = (
    "isolate-client brokers={!r}: expected brokers, such as 'leader', 'coordinator:readers' or '1,2', or None"
)


@dataclass(frozen=True, kw_only=True)
class IsolateClient(AffectsClient):
    """The kernel drops the packets. Connections stay open: neither side gets an error.

    brokers  a target of nodes, which is resolved at the injection; None: all brokers.
    one_way  "out": the brokers do not receive what the client sends; "in": it does not receive what they send.
    Raises ValueError for what is no target of nodes, and for an unknown way.
    """

    brokers: str | int | None = None
    one_way: Way | None = None

    name = "isolate-client"
    proved_by = "packets of the process were dropped; where the kernel cannot, it tried to send or receive"
    end_proved_by = "packets pass; they did not before the heal"
    requires = "root and control groups v2 for `brokers`, `one_way`, and other libraries than kafka-python"
    draw = Draw(options=({}, {"one_way": "in"}, {"one_way": "out"}))
    needs_process = True
    prefers = frozenset({"packets"})

    def __post_init__(self) -> None:
        choice("isolate-client one_way", self.one_way, (None, *get_args(Way)))
        if self.brokers is None:
            return
        try:
            target = Target.parse(self.brokers)
        except ValueError:
            raise ValueError(WRONG.format(self.brokers)) from None
        if target.family != "nodes":
            raise ValueError(WRONG.format(self.brokers))
        object.__setattr__(self, "brokers", str(target))

    @property
    def peers(self) -> Target | None:
        return None if self.brokers is None else Target.parse(self.brokers)

    @property
    def cuts_packets(self) -> bool:
        """Whether a gate in the process cannot take the place of the kernel: it stops everything, and in both
        directions."""
        return self.brokers is not None or self.one_way is not None

    def check(self, topology: Topology, target: Target | Groups) -> None:
        role = target.role if isinstance(target, Target) else None
        if role in topology.commands:
            raise ValueError(
                f"{role} is a program of yours; use isolate_app('{target}'), which cuts it from all brokers"
            )
        if self.peers is not None:
            check(self.peers, topology)
            brokers_only(topology, self.peers, "have no clients")

    def inject(self, context: FaultContext) -> None:
        ways = get_args(Way) if self.one_way is None else (self.one_way,)
        brokers = None if self.peers is None else context.peer_ids
        context.clients.cut(context.node_id, context.event, brokers=brokers, ways=ways)

    def verify_injected(self, context: FaultContext) -> Proof:
        has_dropped = context.wait_until(lambda: any((self._dropped(context) or {}).values()), CLIENT_LIMIT)
        return Proof(has_dropped, self._evidence(context, self._dropped(context)))

    def heal(self, context: FaultContext) -> None:
        if self._has_ended(context):  # by another fault, and its cut with it
            return
        try:
            context.notes["dropped"] = self._dropped(context)
        finally:
            context.clients.restore(context.node_id, context.event)

    def verify_healed(self, context: FaultContext) -> Proof:
        if self._has_ended(context):
            return Proof(True, {"ended_early": "the process has ended"})
        dropped = context.notes.get("dropped")
        is_connected = context.wait_until(lambda: self._dropped(context) is None, CLIENT_LIMIT)
        evidence = {**self._evidence(context, dropped), "packets_pass": is_connected}
        if context.effective and dropped is None:
            return Proof(False, {**evidence, "ended_early": "packets passed before the fault's end"})
        return Proof(is_connected, evidence)

    def _has_ended(self, context: FaultContext) -> bool:
        return context.node_id not in context.clients.roles()

    def _dropped(self, context: FaultContext) -> Mapping[str, int] | None:
        return context.clients.dropped(context.node_id, context.event)

    def _evidence(self, context: FaultContext, dropped: Mapping[str, int] | None) -> dict[str, object]:
        evidence: dict[str, object] = {"dropped": dropped}
        if self.peers is not None:
            evidence["brokers"] = list(context.peer_ids)
        return evidence


def isolate_client(
    target: str,
    *,
    lasting: float = OPEN,
    at: float = 0,
    after: str | None = None,
    brokers: str | int | None = None,
    one_way: Way | None = None,
) -> Event:
    """No packet passes between client processes and brokers, or none one way, and neither side gets an error.

    brokers  those that it concerns, such as ``leader``, ``coordinator:readers`` or 2; None: all.
    one_way  "out": the brokers do not receive what the clients send; "in": these do not receive what they send.
    """
    fault = IsolateClient(brokers=brokers, one_way=one_way)
    return Event.of(fault, target, at=at, after=after, lasting=lasting)
