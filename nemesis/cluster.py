"""What faults need of a cluster. They know a cluster only through these protocols."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from nemesis.views import InstanceView, Moment, QuickView, View

State = Literal["running", "paused", "stopped"]
Registration = Literal["active", "fenced", "unregistered"]


class Ahead(NamedTuple):
    """How far a node's own clock is ahead of this host's clock: between `least` and `most` seconds.

    at      seconds of this host's clock when the node was asked.
    source  what the node stated its time in, such as the append time of a record.
    """

    at: float
    least: float
    most: float
    source: str


class Node(Protocol):
    """One broker or controller, and its network namespace."""

    @property
    def id(self) -> int: ...

    @property
    def host(self) -> str:
        """The host name under which its peers reach it."""

    @property
    def mac(self) -> str:
        """Link-layer address that its peers see. It does not change when the broker is restarted."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """IP addresses by which its peers reach it: IPv4, then IPv6 if it has one."""

    @property
    def probe_port(self) -> int:
        """A TCP port on which the node listens for its peers while it runs."""

    def state(self) -> State:
        """As observed now. ``paused`` means stopped by the freezer or by SIGSTOP."""

    def incarnation(self) -> str:
        """Changes with every start of the broker process."""

    def exit_code(self) -> int:
        """Exit status of the process that ended last (137 after SIGKILL); called only while it is stopped."""

    def kill(self) -> None:
        """SIGKILL to the broker process. Returns when the process is gone."""

    def start(self) -> None:
        """Start a stopped broker. Returns when its process runs, which is before it serves clients."""

    def stop(self) -> None:
        """Controlled shutdown (SIGTERM). Returns when the process is gone."""

    def freeze(self) -> None:
        """Stop every thread by the cgroup freezer. Raises OSError when the kernel refuses."""

    def thaw(self) -> None:
        """Undo `freeze`. Does nothing to a node that is not frozen."""

    def signal(self, name: Literal["STOP", "CONT"]) -> None: ...

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        """Run a command in the node's network namespace (not in the broker's container).

        Returns exit status and output. It also works while the broker is paused or stopped. A node runs these
        commands one after the other.
        """

    def look(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        """As `shell`, for a command that may take long and changes nothing: others of the node go on beside it."""

    def limit_cpu(self, cores: float | None) -> None:
        """Limit the processor time of all threads of the process together; None for no limit."""

    def cpu_limit(self) -> float | None:
        """Cores that the process may use; None for no limit."""

    def throttled(self) -> int:
        """How often the kernel has throttled the process so far."""

    def limit_memory(self, size: int | None) -> None:
        """Limit the bytes of the node's container; None for no limit. Raises OSError below what is in use."""

    def memory(self) -> tuple[int, int]:
        """(bytes in use, including cached files; bytes allowed)."""

    def killed_for_memory(self) -> bool:
        """Whether the process that ended last was killed by the kernel because memory was exhausted."""

    def execute(self, command: str) -> tuple[int, str]:
        """Exit status and output of a shell command in the node's own container, which must run."""

    @property
    def disk(self) -> Disk: ...

    @property
    def clock(self) -> Clock: ...


class Disk(Protocol):
    """A node's data in /k/data. All methods but `run` need a file system of the node's own."""

    def run(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        """Exit status and output of a shell command that can access the data, whether or not the broker runs."""

    def fill(self) -> object:
        """Take all free space."""

    def empty(self) -> object:
        """Free the space that `fill` took, if it took any."""

    def available(self) -> int:
        """Free bytes."""

    def freeze(self, limit: float) -> None:
        """Let every write wait until `thaw`, for at most `limit` seconds even if this process ends."""

    def thaw(self) -> None: ...

    def frozen(self) -> bool: ...

    def begin_write(self, name: str) -> None:
        """Begin a write of one byte, which goes on alone. Returns when it has begun; `name` identifies it."""

    def write_waited(self, name: str) -> tuple[float, bool]:
        """(seconds since that write began, or that it took; whether it has ended)."""

    def throttle(self, rate: int | None) -> None:
        """Limit what the node's processes write to the device, in bytes per second; None for no limit.

        A restart of the process ends the limit.
        """

    def throttled(self) -> int | None:
        """The limit that the kernel reports; None for none."""

    def shut_down(self) -> None:
        """Let every access fail until the process has ended. Data that was not synced is lost."""

    def wait_unmounted(self) -> None:
        """Wait until nothing has the disk mounted. The next access recovers what is on the device. Raises OSError."""


class Clock(Protocol):
    """The time of day that the node's process reads. Its monotonic clock cannot be changed."""

    def set(self, offset: float, ppm: float = 0.0) -> object:
        """offset: seconds by which the clock is wrong from now on. ppm: millionths by which it runs too fast."""

    def get(self) -> tuple[float, float]: ...

    def clear(self) -> object: ...


class Kafka(Protocol):
    """Requests to Kafka itself. Methods raise OSError when no broker answers, ValueError when Kafka refuses."""

    def elect(self, topic: str, partition: int, *, unclean: bool) -> None:
        """Elect the preferred leader, or any live replica. It is no error if no election is needed."""

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Begin to move a partition; the first replica is the preferred leader."""

    def epoch(self, topic: str, partition: int) -> int:
        """The highest leader epoch that any broker reports; -1 for none."""

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        """Log start offset and log end offset, as the leader reports them."""

    def partitions(self, topic: str) -> int:
        """Number of partitions; 0 where the topic does not exist."""

    def add_partitions(self, topic: str, total: int) -> None: ...

    def recreate(self, topic: str) -> None:
        """Delete a topic and create it again, with the same partitions, replicas and configuration."""

    def topic_id(self, topic: str) -> str:
        """Changes when a topic is recreated."""

    def delete_records(self, topic: str, partition: int, before: int) -> None: ...

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """The settings of the topic itself, without defaults."""

    def configure_topic(self, topic: str, settings: Mapping[str, str | None]) -> None:
        """Set them; None restores the default."""

    def broker_config(self, node: int) -> Mapping[str, str]:
        """The dynamic settings of the broker itself, without defaults."""

    def configure_broker(self, node: int, settings: Mapping[str, str | None]) -> None: ...

    def group(self, group: str) -> tuple[str, int]:
        """(state, such as Stable; number of members).

        Raises ValueError for a group of another protocol than the classic one.
        """

    def rebalance(self, group: str) -> int:
        """Let one more member join the group, so that partitions are reassigned, and leave again.

        Returns the generation in which it took part. The first generation of a group is 1.
        """

    def transaction(self, name: str) -> tuple[str, int]:
        """(state, such as Ongoing; producer epoch, -1 for none) of a transactional id."""

    def fence(self, name: str) -> int:
        """Take over a transactional id, which fences its producer. Returns the new producer epoch."""

    def delete_controller(self) -> None:
        """ZooKeeper mode: delete /controller, so that the brokers elect a new controller."""

    def controller_epoch(self) -> int:
        """-1 where no broker reports it."""

    def add_broker(self) -> int:
        """Add a broker. Returns its id when it serves clients."""

    def remove_broker(self, node: int) -> None:
        """Move its replicas to the others, and remove it."""

    def change_release(self, node: int, version: str) -> None:
        """Give a stopped node the files of another release. It keeps its data, and starts with these files."""

    def registration(self, node: int) -> Registration:
        """Whether the controller has that broker registered, and lets it serve."""


class Clients(Protocol):
    """The client processes of the workload, by number."""

    def roles(self) -> Mapping[int, str]:
        """The roles of processes that run or are paused: ``producer``, ``reader``, ``session`` and others."""

    def members(self) -> Mapping[int, str]:
        """The consumer groups, by their short names, of those of these processes that are members of one."""

    def instances(self) -> Mapping[int, int]:
        """The numbers of those of these processes that are instances of a user's application."""

    def acknowledged(self) -> int:
        """Number of sends acknowledged so far."""

    def kill(self, process: int) -> None:
        """SIGKILL. Returns when the process is gone. The end is part of the experiment, and not reported as a
        failure.
        """

    def stop(self, process: int) -> None:
        """Ask it to end after what it has begun; an application gets SIGTERM. Returns at once."""

    def replace(self, process: int) -> int:
        """Start a replacement for a process that was killed or stopped. Returns its number once it is ready."""

    def pause(self, process: int) -> None: ...

    def resume(self, process: int) -> None: ...

    def paused(self, process: int) -> bool: ...

    def freeze(self, process: int, limit: float) -> bool:
        """Let an instance of an application stand still until `thaw`, and `limit` seconds at most. Faults hit it all
        the same.

        False where it does not run, or a fault or somebody else holds it already. Raises OSError where it cannot be
        frozen.
        """

    def frozen(self, process: int) -> bool:
        """Whether it stands still since `freeze`. False for a process that is gone."""

    def thaw(self, process: int) -> None:
        """Let it go on, unless a fault pauses it."""

    def instance_view(self, instance: int, moment: Moment) -> InstanceView:
        """A new view of the instance of that number. The caller closes it."""

    def isolate(self, process: int) -> None:
        """Cut its connections to all brokers: nothing passes, and neither side gets an error."""

    def connect(self, process: int) -> None: ...

    def isolated(self, process: int) -> int | None:
        """How often it has tried to send or receive since it was isolated; None when it is not isolated."""

    def cut(
        self,
        process: int,
        event: str,
        *,
        brokers: Collection[int] | None,
        ways: Collection[Literal["in", "out"]],
    ) -> None:
        """Let no packet pass between it and these brokers (None: all), in these ways: "in" is from the brokers to it.

        Cuts of several events add up. Raises OSError where the kernel refuses, and ValueError where this host can cut
        no packets of clients, and they cannot be held back in the process instead.
        """

    def dropped(self, process: int, event: str) -> Mapping[str, int] | None:
        """Packets dropped by the event's cut so far, by their way, or ``tried``: how often the process was held back
        instead. None where there is no such cut.
        """

    def restore(self, process: int, event: str) -> None:
        """End the event's cut."""

    def limit_cpu(self, process: int, cores: float | None) -> None:
        """Limit the processor time of an instance of an application; None for no limit. Returns at once."""

    def cpu_limit(self, process: int) -> float | None:
        """Cores that the kernel lets it use; None for no limit."""

    def throttled(self, process: int) -> int:
        """How often the kernel has throttled it so far."""

    def limit_memory(self, process: int, spare: int | None) -> None:
        """Limit an instance of an application to what it uses and so many bytes; None for no limit. Returns at
        once."""

    def memory(self, process: int) -> tuple[int, int | None]:
        """(bytes in use, including cached files; bytes allowed, None for no limit)."""

    def memory_reached(self, process: int) -> int:
        """How often it needed more memory than was allowed so far."""


class Cluster(View, Protocol):
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

    def ahead(self, node: int) -> Ahead:
        """What time that node says it is. Raises OSError when it does not say it."""

    def answers(self, node: int) -> bool:
        """Whether that broker answers a client on this host within a second or two."""

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        """TCP ports in the nodes' namespaces by their purpose: ``replication``, ``controller``."""

    def quick(self) -> QuickView:
        """A new one. The caller closes it."""

    def serving(self, node: int) -> bool:
        """Whether that broker answers on its client listener and the controller has not fenced it."""
