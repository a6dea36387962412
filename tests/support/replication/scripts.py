"""Each event of the audit as a script for the model, in every order that the event leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations, product

from pytest_kafkacheck.audit.configuration import Configuration
from tests.support.replication.model import Partition


@dataclass
class Seen:
    """lost: acknowledged records. refused: a write during the fault, once elections are over."""

    lost: bool = False
    refused: bool = False


def play(configuration: Configuration, event: str) -> Seen:
    """What any order of the event shows."""
    seen = Seen()
    followers = range(1, configuration.replication)
    for order in permutations(followers):
        for shown in SCRIPTS[event](configuration, order):
            seen.lost |= shown.lost
            seen.refused |= shown.refused
    return seen


def _begin(c: Configuration) -> Partition:
    partition = Partition(c)
    partition.send("first")
    return partition


def _crash(
    c: Configuration,
    order: tuple[int, ...],
    *,
    harm: Callable[[Partition, int], None] | None = None,
    cleanly: bool = False,
) -> Iterator[Seen]:
    """The leader ends while a follower may lack its last record."""
    del order
    partition = _begin(c)
    partition.send("replicated")
    for replica in partition.replicas:
        replica.fetches = False
    partition.send("not replicated")
    for replica in partition.replicas:
        replica.fetches = True
    if c.acks == 0:
        partition.acknowledged.append("in the socket")
    if harm:
        harm(partition, 0)
    partition.down(0)
    refused = not partition.send("meanwhile") if partition.leader is not None else True
    partition.returns(0, uncleanly=not cleanly)
    partition.rejoin()
    yield Seen(bool(partition.lost()), refused)


def _isolated(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    del order
    partition = _begin(c)
    for replica in partition.replicas:
        replica.fetches = False
    partition.down(0)
    # A client that does not know better. The old leader waits for its ISR in vain, unless it is alone.
    if c.replication > 1:
        partition.replicas[0].log.append("to the old leader")
        if c.acks != "all":
            partition.acknowledged.append("to the old leader")
    for replica in partition.replicas:
        replica.fetches = True
    refused = not partition.send("meanwhile") if partition.leader is not None else True
    partition.returns(0, uncleanly=False)
    partition.rejoin()
    if c.acks == 0:
        partition.acknowledged.append("in the socket")
    yield Seen(bool(partition.lost()), refused)


def _shrunk(
    c: Configuration, order: tuple[int, ...], *, harm: Callable[[Partition, int], None] | None = None
) -> Iterator[Seen]:
    partition = _begin(c)
    for number in order:
        partition.replicas[number].fetches = False
        partition.leave_isr(number)
        partition.send(f"without {number}")
    refused = not partition.send("alone")
    if c.acks == 0:
        partition.acknowledged.append("in the socket")
    if harm:
        harm(partition, 0)
    partition.down(0)
    refused |= partition.leader is None
    if partition.leader is not None:
        partition.send("by the next one")
    for replica in partition.replicas:
        replica.fetches = True
    partition.returns(0, uncleanly=True)
    partition.rejoin()
    yield Seen(bool(partition.lost()), refused)


def _last_replica(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    for starts in permutations(order):
        partition = _begin(c)
        for number in order:
            partition.down(number)
            partition.send(f"without {number}")
        if c.acks == 0:
            partition.acknowledged.append("in the socket")
        partition.lose_power(0)
        partition.down(0)
        for number in starts:
            partition.returns(number, uncleanly=False)
        partition.returns(0, uncleanly=True)
        partition.rejoin()
        yield Seen(bool(partition.lost()))


def _power_loss(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    """Any replica of the ISR may be the first that is up."""
    del order
    for first in range(c.replication):
        partition = _begin(c)
        for replica in partition.replicas:
            replica.fetches = False
        partition.send("not replicated")
        if c.acks == 0:
            partition.acknowledged.append("in the socket")
        for number in range(c.replication):
            partition.lose_power(number)
            partition.replicas[number].fetches = True
        partition.leader = first
        partition.rejoin()
        yield Seen(bool(partition.lost()))


def _rack(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    """The rack of the leader."""
    assert c.replicas_in_rack is not None
    if c.replicas_in_rack >= c.replication:
        for seen in _power_loss(c, order):
            yield Seen(seen.lost, True)
        return
    partition = _begin(c)
    for replica in partition.replicas:
        replica.fetches = False
    partition.send("not replicated")
    for replica in partition.replicas:
        replica.fetches = True
    if c.acks == 0:
        partition.acknowledged.append("in the socket")
    rack = [*order[: c.replicas_in_rack - 1], 0]
    for number in rack:
        partition.lose_power(number)
        partition.down(number)
    refused = not partition.send("meanwhile") if partition.leader is not None else True
    for number in rack:
        partition.returns(number, uncleanly=True)
    partition.rejoin()
    yield Seen(bool(partition.lost()), refused)


def _rolling(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    yield from _crash(c, order, cleanly=True)


def _moved(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    """Another replica leads while it may lack the last record."""
    partition = _begin(c)
    for replica in partition.replicas:
        replica.fetches = False
    partition.send("not replicated")
    for replica in partition.replicas:
        replica.fetches = True
    if c.acks == 0:
        partition.acknowledged.append("in the socket")
    if order:
        partition.leader = order[0]
    refused = not partition.send("meanwhile")
    partition.rejoin()
    yield Seen(bool(partition.lost()), refused)


def _two_killed(c: Configuration, order: tuple[int, ...]) -> Iterator[Seen]:
    """The controller notices one before the other, or both at once, and they return in either order."""
    down = [0, *order[:1]]
    for returns, noticed, at_once in product(permutations(down), permutations(down), (False, True)):
        partition = _begin(c)
        for replica in partition.replicas:
            replica.fetches = False
        partition.send("not replicated")
        if c.acks == 0:
            partition.acknowledged.append("in the socket")
        for number in noticed if at_once else ():
            partition.replicas[number].up = False
        for number in noticed:
            partition.down(number)
        for number in range(c.replication):
            partition.replicas[number].fetches = True
        refused = partition.leader is None or not partition.send("meanwhile")
        for number in returns:
            partition.returns(number, uncleanly=True)
        partition.rejoin()
        yield Seen(bool(partition.lost()), refused)


SCRIPTS: dict[str, Callable[[Configuration, tuple[int, ...]], Iterator[Seen]]] = {
    "leader-killed": _crash,
    "leader-isolated": _isolated,
    "isr-of-one-killed": _shrunk,
    "isr-of-one-wiped": lambda c, order: _shrunk(c, order, harm=Partition.wipe),
    "leader-wiped": lambda c, order: _crash(c, order, harm=Partition.wipe),
    "power-loss-one": lambda c, order: _crash(c, order, harm=Partition.lose_power),
    "last-replica-power-loss": _last_replica,
    "power-loss": _power_loss,
    "rack-lost": _rack,
    "rolling-restart": _rolling,
    "leader-moved": _moved,
    "two-killed": _two_killed,
}
