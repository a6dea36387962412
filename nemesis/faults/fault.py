"""What a fault is, and what it gets to work with."""

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
from nemesis.targets import Family, Groups, Target
from nemesis.topology import Topology


@dataclass(frozen=True)
class Proof:
    """effective: whether it was seen to be so. evidence: what was seen; JSON-able."""

    effective: bool
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(kw_only=True)
class FaultContext:
    """One event while it goes on: the cluster, and what there is to remember between inject and heal.

    event      its id; owner of what it wants of network, processes and resources.
    nodes      the target, resolved: ids of nodes, or of processes where clients are struck.
    topic      the workload's own.
    lasting    seconds it is to go on.
    random     source of its choices.
    until      waits for a condition, up to so many seconds; gives up when the run is stopped.
    leisure    seconds until the next action of the schedule is due.
    effective  whether the injection was verified.
    healed     whether its heal was carried out without a problem.
    notes      what the fault saw earlier, for its later steps.
    """

    event: str
    target: Target | Groups
    nodes: tuple[int, ...]
    cluster: Cluster
    clients: Clients
    network: Network
    processes: Processes
    desired: Reconciler
    topic: str
    lasting: float
    random: random.Random
    until: Callable[[Callable[[], bool], float], bool]
    leisure: Callable[[], float]
    effective: bool = False
    healed: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def node(self) -> int:
        """The first node: the target, where it is a single one."""
        return self.nodes[0]

    @property
    def process(self) -> Node:
        """That node's process and network."""
        return self.cluster.nodes[self.node]

    @property
    def log(self) -> tuple[str, int]:
        """Topic and partition the target speaks of."""
        assert isinstance(self.target, Target)
        return self.target.log(self.topic)

    @property
    def others(self) -> tuple[str, ...]:
        """Ids of the other events that are at work now."""
        owners = self.network.owners | self.processes.owners | self.desired.owners
        return tuple(sorted(owners - {self.event}))


class Fault(ABC):
    """A kind of fault with its options: a frozen dataclass.

    Each step may raise; the nemesis records that. With several nodes the steps are taken for each of them at the
    same time, unless the fault is of all of them together.

    name       as in schedules and in the history.
    strikes    what it is aimed at.
    together   it takes all nodes at once, as a partition does.
    splits     whether the target may be groups of nodes.
    momentary  over as soon as it has happened: nothing to heal, and nothing to last.
    down       while it goes on, a node does not do its work: what budgets count.
    in_turn    it takes its nodes down one after another.
    halts      it lets the process end or stand still, so that two of them at one node get in each other's way.
    puts_back  it remembers what was there and puts it back at the end, so that two of them at one thing cannot
               overlap: the later one would put back what the earlier one had made of it.
    ours       it changes settings of containers, data or members, and so only strikes clusters that we started.
    lingers    what it did to a process outlives its heal; only a start of the process ends it.
    needs      what the host must be able to do: keys of `nemesis.capabilities.CAPABILITIES`.
    pulse      seconds between two calls of `beat` while it goes on; None for none.
    """

    name: ClassVar[str]
    strikes: ClassVar[Family] = "nodes"
    together: ClassVar[bool] = False
    splits: ClassVar[bool] = False
    momentary: ClassVar[bool] = False
    down: ClassVar[bool] = True
    in_turn: ClassVar[bool] = False
    halts: ClassVar[bool] = False
    puts_back: ClassVar[bool] = False
    ours: ClassVar[bool] = False
    lingers: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset()

    def cut_off(self, nodes: int) -> int:
        """How many of so many nodes that it strikes it keeps from their work at most."""
        return nodes

    @property
    def pulse(self) -> float | None:
        return None

    def options(self) -> dict[str, Any]:
        """Keyword arguments that make an equal fault; JSON-able, without defaults."""
        given = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}  # type: ignore[arg-type]
        default = {each.name: each.default for each in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in given.items() if value != default[name]}

    def kafka_settings(self) -> tuple[Literal["topic", "broker"], Mapping[str, str]] | None:
        """The settings of topics or brokers that it changes, so that an experiment can check their names and values
        before anything starts; None when it changes none."""
        return None

    def check(self, topology: Topology, target: Target | Groups) -> None:  # noqa: B027 - most can be had everywhere
        """Refuse what can never be done there. Raises ValueError saying why."""

    @abstractmethod
    def inject(self, context: FaultContext) -> None: ...

    @abstractmethod
    def verify_injected(self, context: FaultContext) -> Proof: ...

    def beat(self, context: FaultContext) -> None:  # noqa: B027 - most are done once
        """What is done again and again while it goes on."""

    def heal(self, context: FaultContext) -> None:  # noqa: B027 - nothing, where the fault is momentary
        """Undo it. Called also where the injection failed half-way."""

    def verify_healed(self, context: FaultContext) -> Proof:  # noqa: ARG002
        """Whether nothing of this fault is left. It must not demand the end of others that go on."""
        return Proof(True, {"nothing": "it was over when it had happened"})


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
