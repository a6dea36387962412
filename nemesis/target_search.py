"""Which nodes or client processes an event strikes: found out at the moment of its injection."""

from __future__ import annotations

from contextlib import suppress

from nemesis.aliases import Aliases
from nemesis.cluster import Clients, Cluster
from nemesis.event import Event
from nemesis.resolution import VIEWED, Unresolved, resolve
from nemesis.run_clock import RunClock
from nemesis.targets import Groups, Target, named
from nemesis.views import QuickView

LIMIT = 5.0
"""Seconds in which a target must become known, such as the leader of a partition during an election."""


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

    def look(self, event: Event, view: QuickView) -> None:
        """Ask all brokers about the targets once, if these are something that they report."""
        for target, choice in ((event.target, "target"), (event.fault.peers, "peers")):
            if target is None or isinstance(target, Groups) or target.kind not in VIEWED:
                continue
            with suppress(Exception):  # `find` asks again, and tells
                self._resolved(event, target, choice, view)

    def find(self, event: Event, view: QuickView) -> tuple[int, ...]:
        """The ids of the nodes, or the numbers of the client processes. Raises Unresolved with the last reason."""
        return self._find(event, event.target, "target", view)

    def find_peers(self, event: Event, view: QuickView) -> tuple[int, ...]:
        """The ids of the nodes that `Fault.peers` is; none where it is None. Raises as `find`."""
        peers = event.fault.peers
        return () if peers is None else self._find(event, peers, "peers", view)

    def _find(self, event: Event, target: Target | Groups, choice: str, view: QuickView) -> tuple[int, ...]:
        found: list[tuple[int, ...]] = []
        reasons = ["the run was stopped before the first attempt"]

        def is_known() -> bool:
            try:
                found.append(self._resolved(event, target, choice, view))
            except Unresolved as problem:
                reasons.append(str(problem))
            return bool(found)

        if not self._clock.wait_until(is_known, LIMIT):
            raise Unresolved(f"{target}: {reasons[-1]}, for {LIMIT:.0f} s or until the run was stopped")
        return found[0]

    def _resolved(
        self, event: Event, target: Target | Groups, choice: str, view: QuickView
    ) -> tuple[int, ...]:
        """choice: names the source of random choices. Raises Unresolved."""
        target = named(target, self._aliases)
        if isinstance(target, Groups):
            return target.nodes
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
