"""Which nodes or client processes an event strikes: found out at the moment of its injection."""

from __future__ import annotations

from typing import NamedTuple

from nemesis.aliases import Aliases
from nemesis.cluster import Clients, Cluster
from nemesis.event import Event
from nemesis.resolution import VIEWED, Unresolved, resolve
from nemesis.run_clock import RunClock
from nemesis.targets import Groups, Target, named
from nemesis.views import QuickView

LIMIT = 5.0
"""Seconds in which a target must become known, such as the leader of a partition during an election."""


class Found(NamedTuple):
    """nodes: ids of nodes, or numbers of client processes. peers: ids of the nodes that `Fault.peers` is, if any."""

    nodes: tuple[int, ...]
    peers: tuple[int, ...]


class TargetSearch:
    """Of one run. The arguments are those of `Nemesis`."""

    def __init__(
        self,
        cluster: Cluster,
        clients: Clients,
        clock: RunClock,
        *,
        topic: str,
        aliases: Aliases,
        seed: int,
    ) -> None:
        self._cluster, self._clients, self._clock = cluster, clients, clock
        self._topic, self._aliases, self._seed = topic, aliases, seed

    def look(self, event: Event, view: QuickView) -> Found | None:
        """Ask the brokers once. None where they report no part of the target, or where it is not known yet."""
        targets = [event.target] if event.fault.peers is None else [event.target, event.fault.peers]
        if not any(isinstance(target, Target) and target.kind in VIEWED for target in targets):
            return None
        try:
            return self._found(event, view)
        except Exception:  # `find` asks again, and tells
            return None

    def find(self, event: Event, view: QuickView) -> Found:
        """Raises Unresolved with the last reason."""
        found: list[Found] = []
        reasons = ["the run was stopped before the first attempt"]

        def is_known() -> bool:
            try:
                found.append(self._found(event, view))
            except Unresolved as problem:
                reasons.append(str(problem))
            return bool(found)

        if not self._clock.wait_until(is_known, LIMIT):
            raise Unresolved(f"{reasons[-1]}, for {LIMIT:.0f} s or until the run was stopped")
        return found[0]

    def _found(self, event: Event, view: QuickView) -> Found:
        nodes = self._resolved(event, event.target, "target", view)
        peers = event.fault.peers
        return Found(nodes, () if peers is None else self._resolved(event, peers, "peers", view))

    def _resolved(
        self, event: Event, target: Target | Groups, choice: str, view: QuickView
    ) -> tuple[int, ...]:
        """choice: names the source of random choices. Raises Unresolved."""
        target = named(target, self._aliases)
        if isinstance(target, Groups):
            return target.nodes
        try:
            return resolve(
                target,
                self._cluster,
                view=view,
                topic=self._topic,
                rng=event.random(self._seed, choice),
                clients=self._clients.roles(),
                members=self._clients.members(),
                instances=self._clients.instances(),
            )
        except Unresolved as problem:
            raise Unresolved(f"{target}: {problem}") from None
