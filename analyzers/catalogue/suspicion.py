"""A necessary condition of a check, which the prefilter evaluates in cheap passes over a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grain = Literal["record", "value", "send", "session", "leader", "sample", "mark", "epoch", "second"]


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """True for at least one row of a run wherever the check finds something in the run."""

    per: Grain
    """What a row is."""
    where: str
    """SQL over the columns of such a row. Null counts as not suspicious."""


def per_record(where: str) -> Suspicion:
    """Over the columns of ``records``: each polled record and each acknowledged send."""
    return Suspicion(per="record", where=where)


def per_value(where: str) -> Suspicion:
    """Over one row per log and value, of sends of any completion type and intact polls.

    Columns: those of `SEEN` in `analyzers.facts.values` (sent, acked, failed, transactional, polled, read_committed,
    in_final); settled and due (whether the final read had to find it: because of its acknowledgement, and because
    of a poll); unknown (sent with completion type info); least, most (its lowest and highest offset); begun
    (ns, first invocation of a send), returned (ns, first completion of a poll); shared: the offset that it shares
    with another value, else null. Values that share an offset are always suspicious.
    """
    return Suspicion(per="value", where=where)


def per_send(where: str) -> Suspicion:
    """Over acknowledged sends. Columns: invoked (ns), and overtaken: when the first of the sends to a higher offset
    of the log was acknowledged (ns). Sends that no other can have overtaken are left out."""
    return Suspicion(per="send", where=where)


def per_session(where: str) -> Suspicion:
    """Over the events of each session in a log, in order of time.

    event     read (a completed read begins), send (an acknowledged send is invoked), poll, ack, finish (a completed
              read ends).
    offset    read: its end (exclusive); send, ack: the acknowledged one, null if unknown; poll: the lowest.
    is_whole  poll: whether it returned every record from its lowest to its highest offset, each intact.
    known, first, written, earliest, ended   of the events before it: the highest and the lowest offset polled, the
              highest and the lowest acknowledged, and the highest end of a completed read. -1 for no highest one,
              null for no lowest one.

    Offsets of which several values were seen are always suspicious: the events do not tell the values.
    """
    return Suspicion(per="session", where=where)


def per_leader(where: str) -> Suspicion:
    """Over polls, of each log, broker that served it, and leader epoch. Columns: offset (the highest), and watermark:
    the lowest high watermark that the broker returned to a request sent later, while it called itself the leader in
    this epoch."""
    return Suspicion(per="leader", where=where)


def per_sample(where: str) -> Suspicion:
    """Over samples of partitions, of the quorum, and of the controller in ZooKeeper, each alone. Columns: kind,
    leader, isr, replicas; mark (the high watermark) and own_end (of the log), where the broker called itself the
    leader."""
    return Suspicion(per="sample", where=where)


def per_mark(where: str) -> Suspicion:
    """Over answers of brokers that called themselves leaders. Columns: mark (the high watermark) and start (of the
    log); in_epoch and start_in_epoch: the highest ones of this leader epoch before."""
    return Suspicion(per="mark", where=where)


def per_epoch(where: str) -> Suspicion:
    """Over leader epochs of partitions and of controllers, each as one broker named it. Columns, times in ns: kind,
    and

    last                           when the broker named it last.
    is_latest                      whether that was its last answer.
    newer, newer_elsewhere         when the broker, and when any broker, first named a later epoch.
    lowest_leader, highest_leader  of those that any broker named for the epoch.
    start                          the highest log start, where the broker called itself the leader.
    deleted_to                     the offset below which a leader surely deleted records because it was asked to.
    least_end                      the lowest end of the log, where the broker called itself the leader.
    reached                        the highest high watermark of leaders of earlier epochs.
    short_for                      the time between the first and the last answer of the leader with fewer in-sync
                                   replicas than the lowest min.insync.replicas seen of the topic.
    """
    return Suspicion(per="epoch", where=where)


def per_second(where: str) -> Suspicion:
    """Over seconds in which brokers named one ISR of a partition. Columns: follower_end (the lowest end of the log of
    a follower that counted itself as in sync), and held: the highest high watermark of a leader before a second in
    which a leader named that ISR, up to this second."""
    return Suspicion(per="second", where=where)
