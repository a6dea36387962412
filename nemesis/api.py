"""How people write faults down: a function for each, in the order of the catalogue.

Every function takes a target, as in `nemesis.targets`: ``leader``, ``follower``, ``controller``, a node
id, ``random`` and more; `at`, seconds after the load is on; `lasting`, seconds until it is healed; and `after`, a
moment to wait for, as in `nemesis.triggers`, from which `at` counts then. What is over when it has happened lasts no
time. They raise ValueError naming the field, the value and what is allowed.

Targets are resolved when the fault strikes. To shrink the ISR to the leader and then lose that same
leader, cut the replication plane only: the leader's session with the controller goes on, so nobody
replaces it, and ``leader`` still means the same node when the kill comes::

    partition("leader", plane="replication", at=2, lasting=7), kill("leader", at=8, lasting=10)

(An idle partition does not shrink its ISR: it takes writes during the cut.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nemesis import faults
from nemesis.faults.corrupt import How
from nemesis.faults.cut_clients import Way as ClientWay
from nemesis.faults.fault import Fault
from nemesis.faults.partition import Plane, Shape, Way
from nemesis.schedule import Event
from nemesis.targets import Target, parse
from nemesis.triggers import Trigger

Split = str | int | Sequence[Sequence[int]]


def kill(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """SIGKILL to the broker; it is started again at the end."""
    return _event(faults.Kill(), target, at, after, lasting)


def stop(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Controlled shutdown (SIGTERM); the broker is started again at the end."""
    return _event(faults.Stop(), target, at, after, lasting)


def restart(target: str | int, *, at: float = 0, after: str | None = None, clean: bool = True) -> Event:
    """Stopped and started at once; with clean=False killed and started."""
    return _event(faults.Restart(clean=clean), target, at, after)


def rolling_restart(target: str | int = "all", *, at: float = 0, after: str | None = None) -> Event:
    """Controlled restarts, one after another, each when the one before serves."""
    return _event(faults.RollingRestart(), target, at, after)


def pause(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Every thread of the broker stands still."""
    return _event(faults.Pause(), target, at, after, lasting)


def crash_loop(
    target: str | int, *, lasting: float, at: float = 0, after: str | None = None, every: float = 2.0
) -> Event:
    """Killed, started after `every` seconds, killed again after as many, and so on."""
    return _event(faults.CrashLoop(every=every), target, at, after, lasting)


def oom(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Killed by the kernel for want of memory; started again at the end."""
    return _event(faults.Oom(), target, at, after, lasting)


def isolate(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """The node and its peers cannot hear each other; clients reach all of them."""
    return _event(faults.Isolate(), target, at, after, lasting)


def partition(
    split: Split,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
    plane: Plane | None = None,
    ports: Collection[int] | None = None,
    one_way: Way | None = None,
) -> Event:
    """Groups of nodes that cannot hear each other; clients reach all of them.

    split    groups of node ids, as [[1], [2, 3]] (a node in no group keeps its links); or a target, which is
             cut off from all others.
    plane    cut only what is spoken there: ``replication`` or ``controller``.
    ports    cut only these TCP ports of the nodes.
    one_way  "out": the others do not hear the target; "in": it does not hear them.
    """
    return _event(faults.Partition(plane=plane, ports=ports, one_way=one_way), split, at, after, lasting)


def halves(target: str = "all", *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """The brokers fall apart into two halves, by chance."""
    return _shaped("halves", target, at, after, lasting)


def bridge(target: str = "all", *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Two halves that one broker hears both of."""
    return _shaped("bridge", target, at, after, lasting)


def majority_ring(target: str = "all", *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Every broker hears a majority, and no two the same one; needs four brokers."""
    return _shaped("majority-ring", target, at, after, lasting)


def cut_clients(
    target: str | int,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
    one_way: ClientWay | None = None,
) -> Event:
    """Clients do not reach the node, its peers do. one_way: "in" loses questions, "out" answers."""
    return _event(faults.CutClients(one_way=one_way), target, at, after, lasting)


def reset(target: str | int, *, at: float = 0, after: str | None = None) -> Event:
    """All TCP connections of the node break."""
    return _event(faults.Reset(), target, at, after)


def loss(
    target: str | int, *, lasting: float, at: float = 0, after: str | None = None, percent: float = 20
) -> Event:
    """That many of the packets to the node are lost."""
    return _event(faults.Loss(percent=percent), target, at, after, lasting)


def bandwidth(
    target: str | int, *, lasting: float, at: float = 0, after: str | None = None, kbit: float = 500
) -> Event:
    """The node sends no more than that many kilobits per second."""
    return _event(faults.Bandwidth(kbit=kbit), target, at, after, lasting)


def delay(
    target: str | int,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
    ms: float = 200,
    jitter_ms: float = 0,
) -> Event:
    """What the node sends arrives later. Needs a kernel with netem."""
    return _event(faults.Delay(ms=ms, jitter_ms=jitter_ms), target, at, after, lasting)


def duplicate(
    target: str | int, *, lasting: float, at: float = 0, after: str | None = None, percent: float = 20
) -> Event:
    """That many of the packets the node sends arrive twice. Needs a kernel with netem."""
    return _event(faults.Duplicate(percent=percent), target, at, after, lasting)


def reorder(
    target: str | int,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
    percent: float = 20,
    ms: float = 20,
) -> Event:
    """That many of the packets the node sends overtake others, which come later. Needs a kernel with netem."""
    return _event(faults.Reorder(percent=percent, ms=ms), target, at, after, lasting)


def dns(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """The node gets no answer when it asks for a name."""
    return _event(faults.Dns(), target, at, after, lasting)


def cpu(
    target: str | int, *, lasting: float, at: float = 0, after: str | None = None, cores: float = 0.1
) -> Event:
    """The node's process gets that many cores' time."""
    return _event(faults.Cpu(cores=cores), target, at, after, lasting)


def memory(
    target: str | int, *, lasting: float, at: float = 0, after: str | None = None, spare_mb: int = 8
) -> Event:
    """The node gets no more memory than it has, and that many MiB."""
    return _event(faults.Memory(spare_mb=spare_mb), target, at, after, lasting)


def disk_full(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Nothing is free on the node's disk. Needs ClusterSpec(disk_mb=...)."""
    return _event(faults.DiskFull(), target, at, after, lasting)


def disk_stall(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Every write to the node's disk waits. Needs ClusterSpec(disk_mb=...)."""
    return _event(faults.DiskStall(), target, at, after, lasting)


def power_loss(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """The process is gone, and what was not synced; started again at the end. Needs ClusterSpec(disk_mb=...)."""
    return _event(faults.PowerLoss(), target, at, after, lasting)


def corrupt(
    target: str | int,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
    how: How = "truncate",
    size: int = 100,
) -> Event:
    """Killed; the end of the last segment of the target's partition is cut off, or a byte of it flipped."""
    return _event(faults.Corrupt(how=how, size=size), target, at, after, lasting)


def wipe(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Killed; all its replicas are removed from its disk; started again at the end."""
    return _event(faults.Wipe(), target, at, after, lasting)


def log_dir_failure(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Every access to the node's data fails, so that it ends itself. Needs ClusterSpec(disk_mb=...)."""
    return _event(faults.LogDirFailure(), target, at, after, lasting)


def clock(
    target: str | int,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
    offset: float = 0.0,
    ppm: float = 0.0,
) -> Event:
    """The node's time of day jumps by `offset` seconds, and then goes too fast by so many millionths."""
    return _event(faults.Clock(offset=offset, ppm=ppm), target, at, after, lasting)


def elect(
    target: str = "partition", *, at: float = 0, after: str | None = None, unclean: bool = False
) -> Event:
    """The preferred replica becomes leader; with unclean=True any living one, where there is no leader."""
    return _event(faults.Elect(unclean=unclean), target, at, after)


def leader_storm(
    target: str = "partition", *, lasting: float, at: float = 0, after: str | None = None, every: float = 0.5
) -> Event:
    """Leadership of the partition goes round among its replicas all the time."""
    return _event(faults.LeaderStorm(every=every), target, at, after, lasting)


def reassign(target: str = "partition", *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """The partition moves to other replicas, or to others as first one; back again at the end."""
    return _event(faults.Reassign(), target, at, after, lasting)


def add_broker(*, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """One more broker, which is removed at the end."""
    return _event(faults.AddBroker(), "cluster", at, after, lasting)


def remove_broker(target: str | int, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """The broker's replicas move to the others, and it leaves; a new one comes at the end."""
    return _event(faults.RemoveBroker(), target, at, after, lasting)


def recreate_topic(target: str = "topic", *, at: float = 0, after: str | None = None) -> Event:
    """The topic is deleted and made anew."""
    return _event(faults.RecreateTopic(), target, at, after)


def add_partitions(
    target: str = "topic", *, at: float = 0, after: str | None = None, count: int = 1
) -> Event:
    """So many more partitions."""
    return _event(faults.AddPartitions(count=count), target, at, after)


def delete_records(
    target: str = "partition", *, at: float = 0, after: str | None = None, share: float = 0.5
) -> Event:
    """That share of the partition's log is removed, from its beginning."""
    return _event(faults.DeleteRecords(share=share), target, at, after)


def configure(
    settings: Mapping[str, Any],
    target: str = "topic",
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
) -> Event:
    """Settings of a topic, such as {"min.insync.replicas": 1}, for a while."""
    return _event(faults.Configure(settings=settings), target, at, after, lasting)


def configure_broker(
    settings: Mapping[str, Any],
    target: str | int,
    *,
    lasting: float,
    at: float = 0,
    after: str | None = None,
) -> Event:
    """Settings of a running broker, such as {"log.cleaner.threads": 2}, for a while."""
    return _event(faults.ConfigureBroker(settings=settings), target, at, after, lasting)


def delete_controller(*, at: float = 0, after: str | None = None) -> Event:
    """ZooKeeper mode: the brokers must elect a controller anew."""
    return _event(faults.DeleteController(), "cluster", at, after)


def fence(target: str, *, at: float = 0, after: str | None = None) -> Event:
    """Take over a transactional id, as "transaction:transfer-1"."""
    return _event(faults.Fence(), target, at, after)


def rebalance(target: str, *, at: float = 0, after: str | None = None) -> Event:
    """Let the partitions of a group, as "group:readers", be handed out anew."""
    return _event(faults.Rebalance(), target, at, after)


def kill_client(target: str, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """SIGKILL to client processes, as "producer" or "client:0"; others take their place at the end."""
    return _event(faults.KillClient(), target, at, after, lasting)


def pause_client(target: str, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Client processes stand still."""
    return _event(faults.PauseClient(), target, at, after, lasting)


def isolate_client(target: str, *, lasting: float, at: float = 0, after: str | None = None) -> Event:
    """Nothing passes between client processes and any broker."""
    return _event(faults.IsolateClient(), target, at, after, lasting)


def _shaped(shape: Shape, target: str, at: float, after: str | None, lasting: float) -> Event:
    return _event(faults.Partition(shape=shape), target, at, after, lasting)


def _event(fault: Fault, target: Split, at: float, after: str | None, lasting: float = 0.0) -> Event:
    return Event(
        fault=fault,
        target=parse(target) if fault.splits else Target.parse(target),  # type: ignore[arg-type]
        at=at,
        lasting=lasting,
        after=None if after is None else Trigger.parse(after),
    )
