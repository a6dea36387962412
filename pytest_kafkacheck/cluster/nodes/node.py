"""What an engine has to do for each node.

`nemesis.cluster.Node` says what faults do to a node: its processes, its network namespace, its disk, its clock. The
protocols here add what a cluster needs of it besides: where clients reach it, its files and its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from nemesis.cluster import Ahead, Disk, Node
from pytest_kafkacheck.cluster.nodes.agent import Agent
from pytest_kafkacheck.cluster.spec.member import Member
from workloads.clients.connection import Address
from workloads.clients.protocol import Log

CLOCK_MARK = "/run/kafkacheck-clock"
DISK_MARK = "/run/kafkacheck-disk"
WRITE_LIMIT_MARK = "/run/kafkacheck-write-limit"
"""Files in the pod: the clock of its node was set; its disk was filled, frozen or shut down; its writes were limited.

To look at a clock or a disk may take a container, so that is done only then.
"""


class NodeDisk(Disk, Protocol):
    def remains(self) -> list[str]:
        """What faults have left, apart from a limit of writes: a line for each."""


class ClusterNode(Node, Protocol):
    """One node, as an engine runs it.

    A *pod* owns the network namespace and outlives the process, which can be killed, started and replaced in it. So
    the node keeps its addresses, and rules survive a restart. The agent runs in the pod.

    Methods raise OSError where the engine does not do what is asked for, and InfrastructureError where a command in
    the pod did not answer.
    """

    @property
    def member(self) -> Member: ...

    @property
    def agent(self) -> Agent: ...

    @property
    def disk(self) -> NodeDisk: ...

    @property
    def client_address(self) -> Address:
        """Where clients on this host reach a broker."""

    def address(self, listener: str) -> Address:
        """Where this host reaches a published listener. Raises KeyError for one that is not."""

    def ended(self) -> bool:
        """Whether the process has ended. It costs little, so it can be asked while the cluster starts."""

    def ahead(self) -> Ahead:
        """What time its process says it is. Raises OSError when it does not say it."""

    def limits(self) -> list[str]:
        """The limits of processor and memory that its processes have, a line each."""

    @property
    def release(self) -> str:
        """The release of Kafka that it runs. Not for nodes of a cluster that somebody else runs."""

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files of the node by absolute path, whether or not its process runs."""

    def get(self, path: str) -> bytes:
        """The content of a file of the node, whether or not its process runs. OSError when it does not exist."""

    def segments(self, logs: Iterable[Log], folder: Path) -> Mapping[Log, list[Path] | OSError]:
        """Copies of the segments of these partitions in the folder, in the order of their offsets.

        None for a partition that the node does not have, an OSError for one that is too large to be copied.
        """

    def logs(self) -> bytes:
        """Everything its processes have printed since the node was made, over all its starts."""
