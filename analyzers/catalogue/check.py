"""A check: an anomaly, the condition under which it is found, and the conditions under which it runs: before the
prefilter has ruled it out, while the run goes on, and with the bounds that an experiment states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from analyzers.catalogue.anomaly import Anomaly

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


@dataclass(frozen=True, kw_only=True)
class Live:
    """The check runs during the run: a finding in a part of the history is one in the whole history, too."""

    because: str
    """Why no other row can refute a finding, whether it was recorded earlier, is recorded later, or lies in a segment
    that is still open."""
    per: tuple[str, ...]
    """Names of the evidence that identify, besides the subject, what one count stands for: it is reported once."""
    over: str | None = None
    """The fact that is examined during the run; None: that of the check."""
    where: str | None = None
    """SQL over the columns of that fact: when a finding is certain during the run; None: as in the check. It may ask
    for more than the check does."""
    if_records_stay: bool = False
    """Whether it runs only where nothing is to delete records during the run: a deletion that follows, or that is
    recorded later, excuses what it finds."""
    either: frozenset[str] = frozenset()
    """Names of anomalies, its own included, between which a part of the history cannot decide: the whole history has
    one of them. Empty: it has this one."""


@dataclass(frozen=True)
class NotLive:
    """The check runs only when the run is over."""

    because: str
    """What other rows may show that refutes a finding, or what is not known during the run."""


Judging = Live | NotLive

SAMPLES = NotLive("It compares answers of brokers, and samples are judged together when the run is over.")
END = NotLive("What it compares with is recorded only at the end of the run.")
BOUND = NotLive("A bound is about the whole time of a run, and is judged when the run is over.")
CYCLE = NotLive("A cycle of transactions is searched in the whole history.")


@dataclass(frozen=True, kw_only=True)
class Check:
    """A promise, as the condition under which a row of a fact breaks it.

    It is a condition and not a query, so that all checks over one fact share one pass, and each check counts a row
    that breaks its promise once.
    """

    anomaly: Anomaly
    over: str
    """The name of the fact whose rows are examined (see `analyzers.facts`)."""
    where: str
    """SQL over the columns of the fact: true where the promise is broken. Null counts as not broken."""
    time: str
    """SQL: when it happened, in ns; may be null."""
    suspicion: Suspicion | None = None
    """A condition that holds wherever the check finds something, and is cheaper to evaluate. None: the check always
    runs. See `analyzers.judge.prefilter`."""
    live: Judging
    """Whether it runs while the run is going on, and why."""
    bound: str | None = None
    """The field of `Bounds` with the limit, which `where` refers to as ``{bound}`` (ns). None: Kafka itself promises
    it."""

    @property
    def name(self) -> str:
        return self.anomaly.name

    def while_running(self) -> Check | None:
        """The check as it runs while the run is going on; None if it runs only at the end."""
        if not isinstance(self.live, Live):
            return None
        return replace(self, over=self.live.over or self.over, where=self.live.where or self.where)

    def bounded(self, limit: int | str) -> Check:
        """The check for a limit in ns, or for SQL of one, where null stands for no limit."""
        return replace(self, where=self.where.format(bound=limit), bound=None)


@dataclass(frozen=True, kw_only=True)
class CycleCheck:
    """A check for cycles of transactions, which no condition on single rows can find."""

    anomaly: Anomaly
    edges: frozenset[str]
    """Kinds of dependencies that a cycle is made of: ``ww``, ``wr``, ``realtime``."""
    live: Judging

    @property
    def name(self) -> str:
        return self.anomaly.name
