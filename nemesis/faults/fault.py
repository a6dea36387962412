"""What a fault is, and what it gets to work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from nemesis.cluster import Cluster
from nemesis.network import Network
from nemesis.processes import Processes
from nemesis.targets import Groups, Target


@dataclass(frozen=True)
class Proof:
    """effective: whether it was seen to be so. evidence: what was seen; JSON-able."""

    effective: bool
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(kw_only=True)
class Strike:
    """One event while it goes on: the cluster, and what there is to remember between inject and heal.

    event      its id; owner of what it wants of network and processes.
    nodes      the target, resolved.
    until      waits for a condition, up to so many seconds; gives up when the run is stopped.
    leisure    seconds until the next action of the schedule is due.
    effective  whether the injection was verified.
    notes      what the fault saw earlier, for its later steps.
    """

    event: str
    target: Target | Groups
    nodes: tuple[int, ...]
    cluster: Cluster
    network: Network
    processes: Processes
    until: Callable[[Callable[[], bool], float], bool]
    leisure: Callable[[], float]
    effective: bool = False
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def node(self) -> int:
        """The first node: the target, where it is a single one."""
        return self.nodes[0]

    @property
    def others(self) -> tuple[str, ...]:
        """Ids of the other events that are at work now."""
        return tuple(sorted((self.network.owners | self.processes.owners) - {self.event}))


class Fault(Protocol):
    """A kind of fault with its options: a frozen value. Each step may raise; the nemesis records that.

    name    as in schedules and in the history.
    splits  whether the target may be groups of nodes.
    """

    name: ClassVar[str]
    splits: ClassVar[bool]

    def options(self) -> dict[str, Any]:
        """Keyword arguments that make an equal fault; JSON-able, without defaults."""

    def inject(self, strike: Strike) -> None: ...

    def verify_injected(self, strike: Strike) -> Proof: ...

    def heal(self, strike: Strike) -> None: ...

    def verify_healed(self, strike: Strike) -> Proof:
        """Whether nothing of this fault is left. It must not demand the end of others that go on."""
