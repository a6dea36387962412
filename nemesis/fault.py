"""What a fault is.

A fault is declared in one file of `nemesis.faults`: one class derived from `Fault`, and the functions that people
call. `nemesis.registry` finds these files. Everything else derives from them: names in schedules, validation,
conflicts, budgets, random schedules, what the host must be able to do, the exports of `pytest_kafkacheck`, and the
tables in docs/faults.md. `nemesis/faults/kill.py` is the smallest example.

Jepsen's ``nemesis.combined`` does the same with a map: a package holds a nemesis, the generator that draws its
operations and how they are plotted. A class serves better here, because a fault is also a value: it is compared,
stored as JSON, replayed and shrunk. Its options are the fields of a frozen dataclass, and all else about it are class
attributes.

A fault is carried out in four steps: `inject`, `verify_injected`, `heal`, `verify_healed`. Verification is a step of
its own because a fault that had no effect must never make a verdict valid.
"""

from __future__ import annotations

import dataclasses
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from nemesis.cluster import Clients, Cluster, Node
from nemesis.effects.network import Network
from nemesis.effects.processes import Processes
from nemesis.effects.reconciler import Reconciler
from nemesis.serving_watch import Served, not_observed
from nemesis.targets import Groups, Target, TargetFamily
from nemesis.topology import Topology

SettingsOf = Literal["topic", "broker"]

FAMILIES: Mapping[str, str] = {
    "process": "Processes",
    "network": "Network",
    "resources": "Resources",
    "storage": "Storage",
    "clock": "Clock",
    "Kafka": "Kafka itself",
    "clients": "Clients",
}
"""Families of faults, in the order in which documents and messages list them, with their headings."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """How `nemesis.generate` draws a fault.

    weight   relative frequency in schedules whose user gives no weights. 0: drawn only if the user names the fault.
             Above 0 are faults that every cluster can have, and that a workload does not take for an attack on its
             own topics.
    options  keyword arguments of the fault; one entry is drawn.
    targets  one is drawn; empty for the usual targets of its target family.
    least    seconds that its proof may take on a busy machine. A shorter one is drawn only where all must be.
    clients_weight  as weight, in place of it with ``Generated(clients=True)``; None: the same.
    """

    weight: float = 0.0
    options: tuple[Mapping[str, Any], ...] = ({},)
    targets: tuple[str, ...] = ()
    least: float = 0.0
    clients_weight: float | None = None


class Fault(ABC):
    """A kind of fault with its options: a frozen dataclass.

    Each step may raise; the exception is recorded as the action's error. With several nodes, each step is taken for
    all of them at the same time in threads, unless `takes_all_nodes`.

    name              as in schedules and in the history, with hyphens.
    family            a key of `FAMILIES`.
    proved_by         what the verification of the injection observes, for the documents.
    end_proved_by     the same of the heal. A momentary fault may have none.
    requires          what the cluster must have, for the documents; `check` enforces it.
    draw              how random schedules draw it.
    target_family     what it is aimed at.
    takes_all_nodes   each step is taken once for all nodes together, as for a partition.
    accepts_groups    the target may be groups of nodes.
    momentary         over as soon as it has happened: it has no duration, and nothing to heal.
    takes_nodes_down  while it goes on, a node does not serve; budgets count such nodes.
    one_at_a_time     it takes its nodes down one after another.
    blocks_process    it ends a process or makes it stand still. Two of these interfere at one node.
    needs_process     its proof needs a running process. Random schedules do not begin it where one may be blocked.
    needs_peer        its proof measures packets from another node. Random schedules do not begin it where another
                      fault may cut the node off from all others.
    needs_all_nodes   its proof needs the controller and every replica. Random schedules begin it only when no fault
                      is at work at a node, and the replicas have had time to get in sync.
    strikes_serving   it ends a process or makes it stand still that must have served just before: one that was
                      booting, hung or fenced was not struck. Its proof asks `nemesis.steps.serving`.
    destroys_records  what a replica had acknowledged may be gone. Random schedules begin it only as with
                      `needs_all_nodes`: nothing keeps a record whose last copy is destroyed.
    allows            names of faults that may begin at the same node while it blocks the process.
    restores_state    it remembers an earlier state and restores it at the end. Two of these cannot overlap at the
                      same object: the later one would restore what the earlier one had set.
    changes_cluster   it changes settings of containers, data or members. Attached clusters refuse it.
    outlives_heal     its effect on a process outlives the heal; only a start of the process ends it.
    needs             what the host must be able to do: keys of `nemesis.registry.CAPABILITIES`.
    prefers           what the host should be able to do; the fault has another way where it cannot.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    proved_by: ClassVar[str]
    end_proved_by: ClassVar[str] = ""
    requires: ClassVar[str] = ""
    draw: ClassVar[Draw] = Draw()
    target_family: ClassVar[TargetFamily] = "nodes"
    takes_all_nodes: ClassVar[bool] = False
    accepts_groups: ClassVar[bool] = False
    momentary: ClassVar[bool] = False
    takes_nodes_down: ClassVar[bool] = True
    one_at_a_time: ClassVar[bool] = False
    blocks_process: ClassVar[bool] = False
    needs_process: ClassVar[bool] = False
    needs_peer: ClassVar[bool] = False
    needs_all_nodes: ClassVar[bool] = False
    strikes_serving: ClassVar[bool] = False
    destroys_records: ClassVar[bool] = False
    allows: ClassVar[frozenset[str]] = frozenset()
    restores_state: ClassVar[bool] = False
    changes_cluster: ClassVar[bool] = False
    outlives_heal: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset()
    prefers: ClassVar[frozenset[str]] = frozenset()

    def most_down(self, nodes: int) -> int:
        """How many of that many target nodes it takes down at most."""
        return nodes

    @property
    def repeat_every(self) -> float | None:
        """Seconds between two calls of `repeat` from the injection to the heal; None for no calls."""
        return None

    @property
    def peers(self) -> Target | None:
        """A second target, of nodes, which is resolved together with that of the event: the other end of what is cut.
        None for faults that have one target."""
        return None

    @property
    def removes_records(self) -> bool:
        """Whether it may remove records that were acknowledged or read, as deletion and retention do.

        Without it, records that are gone from the beginning of a log are lost.
        """
        return False

    def options(self) -> dict[str, Any]:
        """Keyword arguments that make an equal fault, as JSON values, without those that have their default."""
        values = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}  # type: ignore[arg-type]
        default = {each.name: each.default for each in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: _as_json(value) for name, value in values.items() if value != default[name]}

    def kafka_settings(self) -> tuple[SettingsOf, Mapping[str, str]] | None:
        """The settings of topics or brokers that it changes; None when it changes none.

        An experiment checks their names and values before anything starts.
        """
        return None

    @property
    def moves_to(self) -> str | None:
        """The release of Kafka to which it moves nodes; None where it moves none.

        An experiment checks whether that release can run the cluster, and prepares it, before anything starts.
        """
        return None

    def on(self, topology: Topology) -> Fault:  # noqa: ARG002 - most faults are the same everywhere
        """With the values of options that depend on the cluster. Called for what `check` accepts."""
        return self

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: B027 - most are always possible
        """Raises ValueError, with the reason, for what can never be carried out on that topology."""

    @abstractmethod
    def inject(self, context: FaultContext) -> None: ...

    @abstractmethod
    def verify_injected(self, context: FaultContext) -> Proof: ...

    def repeat(self, context: FaultContext) -> None:  # noqa: B027 - most faults act once
        """Called every `repeat_every` seconds between the injection and the heal."""

    def heal(self, context: FaultContext) -> None:  # noqa: B027 - a momentary fault has nothing to undo
        """Undo the fault. Also called where the injection failed half-way."""

    def verify_healed(self, context: FaultContext) -> Proof:  # noqa: ARG002
        """Whether nothing of this fault is left. Must not require that other faults have ended."""
        return Proof(True, {"nothing": "there was nothing to undo"})


def _as_json(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value


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
