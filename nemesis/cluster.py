"""What a fault needs of a cluster. Faults know clusters only through these protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

State = Literal["running", "paused", "stopped"]


class Node(Protocol):
    """One broker (or controller) and the network namespace it lives in."""

    @property
    def id(self) -> int: ...

    @property
    def mac(self) -> str:
        """Link-layer address that its peers see; stable over restarts of the broker."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """IP addresses (v4, then v6 where there is one) its peers reach it by."""

    @property
    def probe_port(self) -> int:
        """A TCP port on which the node listens for its peers while it runs."""

    def state(self) -> State:
        """As observed now, not as remembered: ``paused`` covers the freezer and SIGSTOP."""

    def incarnation(self) -> str:
        """Changes with every start of the broker process."""

    def exit_code(self) -> int:
        """Exit status of the process that ended last (137 after SIGKILL); asked only while stopped."""

    def kill(self) -> None:
        """SIGKILL to the broker process; returns when it is gone."""

    def start(self) -> None:
        """Start a stopped broker; returns when its process runs, not when it serves."""

    def freeze(self) -> None:
        """Stop every thread by the cgroup freezer. Raises OSError when the kernel refuses."""

    def thaw(self) -> None:
        """Undo `freeze`; nothing happens when the node is not frozen."""

    def signal(self, name: Literal["STOP", "CONT"]) -> None: ...

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        """Run a command in the node's network namespace (not in the broker's container).

        Returns exit status and output. Works while the broker is paused or dead.
        """


class Cluster(Protocol):
    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        """TCP ports in the nodes' namespaces by what is spoken there: ``replication``, ``controller``."""

    def leader(self, topic: str, partition: int) -> int | None:
        """Node id of the leader with the highest leader epoch any living broker names; None for no leader."""

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        """Node ids in assignment order."""

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        """Node ids, by the view with the highest leader epoch."""

    def controller(self) -> int | None:
        """Node id of the active controller."""

    def serving(self, node: int) -> bool:
        """Whether that broker answers on its client listener and the controller has not fenced it."""
