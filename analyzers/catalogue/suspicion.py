"""A necessary condition of a check, which the prefilter evaluates in cheap passes over a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grain = Literal["record", "value", "send", "session", "leader", "sample"]


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
    """Over samples of partitions, of the quorum, and of the controller in ZooKeeper. Columns: kind, leader,
    leader_epoch, isr, replicas, and

    mark, own_end   the high watermark and the end of the log, where the broker called itself the leader.
    own_start       the log start, where the broker called itself the leader.
    is_short        whether the ISR was smaller than the lowest min.insync.replicas seen of the topic, in an answer of
                    the leader; null where no settings were seen.
    was_short       whether an answer of the same broker was `is_short` at least 2 s before.
    is_latest       whether the broker gave no later answer.
    follower_end    the end of the log, where the broker followed another one and counted itself as in sync.
    held            the highest mark at least 1 s before an answer of a leader with the same ISR, of those before.
    settled_epoch   the highest epoch at least 10 s before, of any broker.
    in_epoch        the highest mark of this epoch before.
    reached         the highest mark before, and of all earlier epochs.
    other_leader    a leader that was named for this epoch before; the highest one of several.
    newest          the highest epoch that the broker had named before.
    """
    return Suspicion(per="sample", where=where)
