"""Resolves the target of an event to nodes or client processes when its injection begins."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

from nemesis.cluster import Clients, Cluster
from nemesis.event import Event
from nemesis.run_clock import RunClock
from nemesis.targets import Groups, Target, named
from nemesis.topology import APP, Aliases
from nemesis.views import CoordinatorKind, QuickView, View

TARGET_LIMIT = 5.0
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

        if not self._clock.wait_until(is_known, TARGET_LIMIT):
            raise Unresolved(f"{reasons[-1]}, for {TARGET_LIMIT:.0f} s or until the run was stopped")
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


OF_LOG = frozenset({"leader", "follower", "isr", "out-of-sync", "partition"})

VIEWED = OF_LOG | {"controller", "coordinator", "transaction-coordinator"}
"""Kinds of targets that a `QuickView` knows."""


class Unresolved(LookupError):
    """The target is nothing at this moment, such as the leader of a partition without one."""


def resolve(
    target: Target,
    cluster: Cluster,
    *,
    view: QuickView,
    topic: str,
    rng: random.Random,
    clients: Mapping[int, str],
    members: Mapping[int, str],
    instances: Mapping[int, int] | None = None,
) -> tuple[int, ...]:
    """The ids of the nodes, or the numbers of the client processes, that the target is now.

    view     of the cluster: it knows the controller, coordinators and the state of logs.
    topic    the workload's main topic.
    rng      the event's own source of random choices.
    clients  the roles of running client processes, by number.
    members  the consumer groups of those of them that are members of one.
    instances  the numbers of those of them that are instances of an application.
    A follower is the first in-sync one in assignment order. A target that names no nodes (a topic, a group) gives
    none. Raises Unresolved.
    """
    match target.kind:
        case "node":
            return target.nodes
        case "one" | "random" | "minority" | "majority" | "all":
            return _some(target.kind, sorted(cluster.brokers), rng)
        case "controllers":
            return tuple(sorted(cluster.controllers))
        case "controller":
            return (_known(view.controller(), "no active controller is known"),)
        case "coordinator" | "transaction-coordinator":
            kind: CoordinatorKind = "group" if target.kind == "coordinator" else "transaction"
            node = view.coordinator(kind, target.name or "")
            return (_known(node, f"no broker names a coordinator of {target.name}"),)
    if target.kind in OF_LOG:
        return _of_log(target, view, topic)
    if target.family == "clients":
        return _clients(target, rng, clients, members, instances or {})
    return ()


def _some(kind: str, brokers: list[int], rng: random.Random) -> tuple[int, ...]:
    total = len(brokers)
    number = {"one": 1, "minority": (total - 1) // 2, "majority": total // 2 + 1, "all": total}.get(kind)
    return tuple(sorted(rng.sample(brokers, rng.randint(1, total) if number is None else number)))


def _of_log(target: Target, view: View, main_topic: str) -> tuple[int, ...]:
    """Each question costs time at the moment of the injection, so only those are asked that the target needs."""
    topic, partition = target.log(main_topic)
    if target.kind == "partition":
        return view.replicas(topic, partition)
    if target.kind == "leader":
        return (_known(view.leader(topic, partition), f"{topic}-{partition} has no leader"),)
    in_sync = view.isr(topic, partition)
    if target.kind == "isr":
        return in_sync or _nothing(f"{topic}-{partition} has an empty ISR, or no broker reports it")
    replicas = view.replicas(topic, partition)
    if target.kind == "out-of-sync":
        behind = tuple(replica for replica in replicas if replica not in in_sync)
        return behind or _nothing(f"{topic}-{partition} has no replica out of sync: ISR {list(in_sync)}")
    leader = _known(view.leader(topic, partition), f"{topic}-{partition} has no leader")
    for replica in replicas:
        if replica != leader and replica in in_sync:
            return (replica,)
    return _nothing(f"{topic}-{partition} has no in-sync follower: leader {leader}, ISR {list(in_sync)}")


def _clients(
    target: Target,
    rng: random.Random,
    clients: Mapping[int, str],
    members: Mapping[int, str],
    instances: Mapping[int, int],
) -> tuple[int, ...]:
    if target.kind == "client":
        chosen = [process for process in clients if process == target.nodes[0]]
    elif target.kind == "clients":
        chosen = list(clients)
    elif target.kind == APP and target.nodes:
        chosen = [process for process, number in instances.items() if number == target.nodes[0]]
    elif target.kind == "member":
        chosen = sorted(process for process, group in members.items() if group == target.name)
        chosen = [rng.choice(chosen)] if chosen else []
    else:
        chosen = sorted(process for process, role in clients.items() if role == target.role)
        if chosen and not target.is_whole_role:
            chosen = [rng.choice(chosen)]
    return tuple(sorted(chosen)) or _nothing(f"no client process is {target}")


def _known(node: int | None, reason: str) -> int:
    if node is None:
        raise Unresolved(reason)
    return node


def _nothing(reason: str) -> tuple[int, ...]:
    raise Unresolved(reason)
