"""How people write faults down.

Every function takes a target, as in `nemesis.targets`: ``leader``, ``follower``, ``controller``, a node
id, ``random`` and more; `at`, seconds after the load is on; and `lasting`, seconds until it is healed.
They raise ValueError naming the field, the value and what is allowed.

Targets are resolved when the fault strikes. To shrink the ISR to the leader and then lose that same
leader, cut the replication plane only: the leader's session with the controller goes on, so nobody
replaces it, and ``leader`` still means the same node when the kill comes::

    partition("leader", plane="replication", at=2, lasting=7), kill("leader", at=8, lasting=10)

(An idle partition does not shrink its ISR: it takes writes during the cut.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nemesis.faults.isolate import Isolate
from nemesis.faults.kill import Kill
from nemesis.faults.partition import Partition, Plane
from nemesis.faults.pause import Pause
from nemesis.schedule import Event
from nemesis.targets import Target, parse


def kill(target: str | int, *, at: float, lasting: float) -> Event:
    """SIGKILL to the broker; it is started again at the end."""
    return Event(fault=Kill(), target=Target.parse(target), at=at, lasting=lasting)


def pause(target: str | int, *, at: float, lasting: float) -> Event:
    """Every thread of the broker stands still."""
    return Event(fault=Pause(), target=Target.parse(target), at=at, lasting=lasting)


def isolate(target: str | int, *, at: float, lasting: float) -> Event:
    """The node and its peers cannot hear each other; clients reach all of them."""
    return Event(fault=Isolate(), target=Target.parse(target), at=at, lasting=lasting)


def partition(
    split: str | int | Sequence[Sequence[int]],
    *,
    at: float,
    lasting: float,
    plane: Plane | None = None,
    ports: Collection[int] | None = None,
) -> Event:
    """Groups of nodes that cannot hear each other; clients reach all of them.

    split  groups of node ids, as [[1], [2, 3]] (a node in no group keeps its links); or a target, which is
           cut off from all others.
    plane  cut only what is spoken there: ``replication`` or ``controller``.
    ports  cut only these TCP ports of the nodes.
    """
    return Event(fault=Partition(plane=plane, ports=ports), target=parse(split), at=at, lasting=lasting)
