"""What the steps of a fault work with, and what they return."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nemesis.cluster import Clients, Cluster, Node
from nemesis.effects.network import Network
from nemesis.effects.processes import Processes
from nemesis.effects.reconciler import Reconciler
from nemesis.serving_watch import Served, not_observed
from nemesis.targets import Groups, Target


@dataclass(frozen=True)
class Proof:
    """The result of a verification.

    effective   whether the effect was observed.
    evidence    the observations, as JSON values.
    had_effect  of a heal: whether the observations until then show that the injection had its effect.
    """

    effective: bool
    evidence: Mapping[str, object] = field(default_factory=dict)
    had_effect: bool = False


@dataclass(kw_only=True)
class FaultContext:
    """One event from its injection to its heal: the cluster, and what the fault must remember in between.

    event       its id. The reconcilers know it as the owner of what it requests.
    node_ids    the resolved target: ids of nodes, or numbers of client processes.
    peer_ids    the resolved `Fault.peers`: ids of nodes.
    topic       the workload's main topic.
    lasting     seconds from the injection to the heal.
    random      source of the fault's random choices.
    wait_until  waits for a condition for at most that many seconds; returns whether it came true. It gives up when
                the run is stopped, and during the injection when the heal is due.
    served      whether a node served just before the injection.
    explaining  ids of the other events because of which a node may not serve now; for None those that are at work
                anywhere, or have just ended.
    effective   whether the injection was verified.
    healed      whether the heal ended without an exception.
    notes       what one step of the fault records for a later one.
    """

    event: str
    target: Target | Groups
    node_ids: tuple[int, ...]
    cluster: Cluster
    clients: Clients
    network: Network
    processes: Processes
    resources: Reconciler
    topic: str
    lasting: float
    random: random.Random
    wait_until: Callable[[Callable[[], bool], float], bool]
    served: Callable[[int], Served] = not_observed
    explaining: Callable[[int | None], tuple[str, ...]] = lambda _: ()
    peer_ids: tuple[int, ...] = ()
    effective: bool = False
    healed: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def node_id(self) -> int:
        """The first node, or client process; the whole target where that is a single one."""
        return self.node_ids[0]

    @property
    def node(self) -> Node:
        return self.cluster.nodes[self.node_id]

    @property
    def log(self) -> tuple[str, int]:
        """Topic and partition that the target names."""
        assert isinstance(self.target, Target)
        return self.target.log(self.topic)

    @property
    def others(self) -> tuple[str, ...]:
        """Ids of the other events that request something of the cluster now."""
        owners = self.network.owners | self.processes.owners | self.resources.owners
        return tuple(sorted(owners - {self.event}))
