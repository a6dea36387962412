"""What a fault needs of a cluster. Faults know clusters only through these protocols."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Protocol

State = Literal["running", "paused", "stopped"]


class Node(Protocol):
    """One broker (or controller) and the network namespace it lives in."""

    @property
    def id(self) -> int: ...

    @property
    def host(self) -> str:
        """The name that its peers know it by."""

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

    def stop(self) -> None:
        """Controlled shutdown (SIGTERM); returns when the process is gone."""

    def freeze(self) -> None:
        """Stop every thread by the cgroup freezer. Raises OSError when the kernel refuses."""

    def thaw(self) -> None:
        """Undo `freeze`; nothing happens when the node is not frozen."""

    def signal(self, name: Literal["STOP", "CONT"]) -> None: ...

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        """Run a command in the node's network namespace (not in the broker's container).

        Returns exit status and output. Works while the broker is paused or dead.
        """

    def limit_cpu(self, cores: float | None) -> None:
        """At most so many cores' time for all threads of the process together; None for no limit."""

    def cpu(self) -> tuple[float | None, int]:
        """(cores allowed, None for no limit; how often the kernel has held the process back so far)."""

    def limit_memory(self, size: int | None) -> None:
        """Bytes for everything of the node's container; None for no limit. Raises OSError when it is below use."""

    def memory(self) -> tuple[int, int]:
        """(bytes in use, files in memory included; bytes allowed)."""

    def killed_for_memory(self) -> bool:
        """Whether the process that ended last was killed by the kernel for want of memory."""

    def execute(self, command: str) -> tuple[int, str]:
        """Exit status and output of a shell command in the node's own container, which must run."""

    @property
    def disk(self) -> Disk: ...

    @property
    def clock(self) -> Clock: ...


class Disk(Protocol):
    """A node's data, which lies at /k/data. All but `run` need a file system of its own."""

    def run(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        """Exit status and output of a shell command that sees the data, whether the broker runs or not."""

    def fill(self) -> object:
        """Take all free space."""

    def empty(self) -> object:
        """Give back what `fill` took; nothing happens where it did not."""

    def available(self) -> int:
        """Free bytes."""

    def freeze(self, limit: float) -> None:
        """Let every write wait until `thaw`, or for `limit` seconds at most, whatever happens to us."""

    def thaw(self) -> None: ...

    def frozen(self) -> bool: ...

    def shut_down(self) -> None:
        """From now on every access fails, and what was not synced is lost, until the process has ended."""


class Clock(Protocol):
    """What the node's process takes for the time of day. Its monotonic clock is nobody's to change."""

    def set(self, offset: float, ppm: float = 0.0) -> object:
        """Seconds off from now on, and millionths by which it goes too fast (below 0: too slow)."""

    def get(self) -> tuple[float, float]: ...

    def clear(self) -> object: ...


class Kafka(Protocol):
    """What can be asked of Kafka itself. Methods raise OSError when nobody answers, ValueError when Kafka refuses."""

    def elect(self, topic: str, partition: int, *, unclean: bool) -> None:
        """Elect the preferred leader, or any living replica. Nothing to elect is no error."""

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Begin to move a partition; the first replica is the preferred leader."""

    def epoch(self, topic: str, partition: int) -> int:
        """The highest leader epoch any broker names; -1 for none."""

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        """First offset and end, as the leader tells them."""

    def partitions(self, topic: str) -> int:
        """How many it has; 0 where it does not exist."""

    def add_partitions(self, topic: str, total: int) -> None: ...

    def recreate(self, topic: str) -> None:
        """Delete a topic and make it anew, with the same partitions, replicas and configuration."""

    def topic_id(self, topic: str) -> str:
        """Changes when a topic is made anew."""

    def delete_records(self, topic: str, partition: int, before: int) -> None: ...

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """What is set for the topic itself."""

    def configure_topic(self, topic: str, settings: Mapping[str, str | None]) -> None:
        """Set; None takes back to the default."""

    def broker_config(self, node: int) -> Mapping[str, str]:
        """What is set for the broker itself while it runs."""

    def configure_broker(self, node: int, settings: Mapping[str, str | None]) -> None: ...

    def group(self, group: str) -> tuple[str, int]:
        """(state, such as Stable; number of members)."""

    def rebalance(self, group: str) -> int:
        """Let one more member join, so that partitions are handed out anew, and leave again.

        Returns the generation it took part in: 1 is the group's first.
        """

    def transaction(self, name: str) -> tuple[str, int]:
        """(state, such as Ongoing; producer epoch, -1 for none) of a transactional id."""

    def fence(self, name: str) -> int:
        """Take over a transactional id, which fences whoever had it; returns the new producer epoch."""

    def delete_controller(self) -> None:
        """ZooKeeper mode: delete /controller, so that brokers elect one anew."""

    def controller_epoch(self) -> int:
        """-1 where nobody tells."""

    def add_broker(self) -> int:
        """Add a broker and return its id when it serves."""

    def remove_broker(self, node: int) -> None:
        """Move its replicas to the others, and remove it."""


class Clients(Protocol):
    """The client processes of the workload, by number."""

    def roles(self) -> Mapping[int, str]:
        """Those that run (or stand still): ``producer``, ``reader``, ``session`` and others."""

    def acknowledged(self) -> int:
        """Sends acknowledged so far."""

    def kill(self, process: int) -> None:
        """SIGKILL; returns when it is gone. Part of the experiment, so that it counts as no failure."""

    def replace(self, process: int) -> int:
        """Start one that does the same as one that was killed; its number, when it works."""

    def pause(self, process: int) -> None: ...

    def resume(self, process: int) -> None: ...

    def paused(self, process: int) -> bool: ...

    def isolate(self, process: int) -> None:
        """Cut its connections to all brokers: nothing passes, and nobody is told."""

    def connect(self, process: int) -> None: ...

    def isolated(self, process: int) -> int | None:
        """How often it has tried in vain to send or receive since it was isolated; None when it is not."""


class Cluster(Protocol):
    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def brokers(self) -> Collection[int]:
        """Ids of the nodes that serve clients."""

    @property
    def controllers(self) -> Collection[int]:
        """Ids of the KRaft voters, combined ones included."""

    @property
    def kafka(self) -> Kafka: ...

    def coordinator(self, kind: Literal["group", "transaction"], name: str) -> int | None:
        """Node id of the coordinator of a group or a transactional id."""

    def answers(self, node: int) -> bool:
        """Whether that broker answers a client on this host within a second or two."""

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
