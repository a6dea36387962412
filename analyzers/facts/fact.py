"""What a fact is, a wide pass over a history that several checks share, and the conditions that several facts use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Literal

from pyspark.sql import DataFrame

from analyzers.catalogue.condition import names, weakened
from analyzers.history.load import History

Rows = Callable[[History], DataFrame]

SENDS_AND_POLLS = "send and poll"
"""Besides kinds of operations (f): in some session, sends and polls have an order between them (see
`analyzers.facts.sessions.of_users`)."""

SAMPLES = "samples of partitions"
"""Besides kinds of operations (f): some broker answered with the state of a partition."""

GROUP_STATES = "states of groups"
"""Besides kinds of operations (f): some coordinator answered with the state of a group."""

TRANSACTION_STATES = "states of transactions"
"""Besides kinds of operations (f): some coordinator answered with the state of a transaction."""

ELIGIBLE_REPLICAS = "samples of eligible replicas"
"""Besides kinds of operations (f): some broker answered with eligible leader replicas, or with an empty ISR."""

FAULTS = "faults"
"""Besides kinds of operations (f): the nemesis did something."""

COPIES = "copies of records"
"""Besides kinds of operations (f): some send has a source, the record from which it was made."""

TRANSFERS = "transfers between accounts"
"""Besides kinds of operations (f): some send has an amount, which it adds to its account."""

COMPACTED_TOPICS = "compacted topics"
"""Besides kinds of operations (f): the recorded settings of some topic allow compaction."""

REMOVALS = "removed beginnings"
"""Besides kinds of operations (f): records may have been removed from the beginning of some log."""

GENERATIONS = "polls of members"
"""Besides kinds of operations (f): some member of a group polled."""

ISOLATION = "readers of committed records"
"""Besides kinds of operations (f): some reader polled with read_committed."""

IDLE_READERS = "readers that got nothing"
"""Besides kinds of operations (f): some reader that the run stopped had got nothing of a log for long."""


Grain = Literal["record", "value", "send", "session", "leader", "sample", "mark", "epoch", "second"]
"""What a row of a first look is, and the columns that it has. Times in ns.

record   A polled record, or an acknowledged send: the columns of ``records``.
value    A value of a log, of sends of any completion type and intact polls: those of `SEEN` in
         `analyzers.facts.values`; settled and due (whether the final read had to find it, because of its
         acknowledgement and because of a poll); unknown (sent with completion type info); first_offset, last_offset;
         begun_at (first invocation of a send), returned_at (first completion of a poll); shared: the offset that it
         shares with another value, else null. Values that share an offset are always suspects.
send     An acknowledged send: invoked, and overtaken: when the first of the sends to a higher offset of the log was
         acknowledged. Sends that no other can have overtaken are left out.
session  An event of a session in a log, in order of time: event (read: a completed read begins; send: an acknowledged
         send is invoked; poll, ack; finish: a completed read ends); offset (read: its end, exclusive; send, ack: the
         acknowledged one, null if unknown; poll: the lowest); is_whole (poll: whether it returned every record from
         its lowest to its highest offset, each intact); of the events before it known, first, written, earliest,
         ended: the highest and the lowest offset polled, the highest and the lowest acknowledged, and the highest end
         of a completed read; -1 for no highest one, null for no lowest one. Events do not tell the values at an
         offset, so runs with a shared offset are always suspects.
leader   A poll, of one log, broker that served it, and leader epoch: offset (the highest), and watermark: the lowest
         high watermark that the broker returned to a request sent later, while it called itself the leader in this
         epoch.
sample   A sample of a partition, of the quorum, or of the controller in ZooKeeper: kind, leader, isr, replicas; mark
         (the high watermark) and own_end (of the log), where the broker called itself the leader.
mark     An answer of a broker that called itself the leader: mark (the high watermark) and start (of the log);
         in_epoch and start_in_epoch: the highest ones of this leader epoch before.
epoch    A leader epoch of a partition or of controllers, as one broker named it: kind; leader_epoch; last (when the
         broker named it last); is_latest (whether that was its last answer); newer, newer_elsewhere (when the broker,
         and when any broker, first named a later epoch); lowest_leader, highest_leader (that any broker named for the
         epoch); start, least_end (the highest log start and the lowest end of the log, where the broker called itself
         the leader); deleted_to (the offset below which a leader surely deleted records because it was asked to);
         reached (the highest high watermark of leaders of earlier epochs); short_for (the time between the first and
         the last answer of the leader with fewer in-sync replicas than the lowest min.insync.replicas seen).
second   A second in which brokers named one ISR of a partition: follower_end (the lowest end of the log of a follower
         that counted itself as in sync), and held: the highest high watermark of a leader before a second in which a
         leader named that ISR, up to this second.
"""


@dataclass(frozen=True, kw_only=True)
class FirstLook:
    """Rows that cost less than the fact, and show where it may have a row that breaks a promise.

    Each row of the fact that breaks one has a row here, in the same run, with the same `columns` and with bounds of
    the others. What a check asks of these rows is derived from its condition (see `analyzers.catalogue.condition`).
    """

    per: Grain
    where: str = "true"
    """SQL: which of these rows count."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column of the fact to SQL over the rows. Equal also where it is null: ``within`` is not
    ``coalesce(within, false)``."""
    upper: Mapping[str, str] = field(default_factory=dict)
    """Likewise, of columns of which the rows have no less: a number that is not smaller, or true where it is true.
    Null only where it is null. Bounds decide comparisons such as ``offset <= written``, and a name alone."""
    lower: Mapping[str, str] = field(default_factory=dict)
    """Likewise, of columns of which the rows have no more."""

    def condition(self, where: str) -> str:
        """SQL over the rows: true for at least one of them wherever a row of the fact meets the condition."""
        derived = weakened(where, self.columns, upper=self.upper, lower=self.lower)
        return derived if self.where == "true" else f"({self.where}) and ({derived})"

    def knows(self, where: str) -> int:
        """How many columns of the condition decide something here."""
        decided = weakened(where, same(self.columns), upper=same(self.upper), lower=same(self.lower))
        return len(names(decided))


def same(names: str | Iterable[str]) -> dict[str, str]:
    """Columns that the rows have by the same names. As one text, they are separated by spaces."""
    return {name: name for name in (names.split() if isinstance(names, str) else names)}


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A named function of a history. Its rows have the columns run, those of the subject of its checks, and its own.

    A fact demands nothing of Kafka; the checks say what is promised.
    """

    name: str
    """By which a check refers to it."""
    rows: Rows
    needs: str | None = None
    """The kind of operation (f), or one of the constants above, without which no row can break a promise; the fact
    is then not computed. None: it is always computed."""
    looks: tuple[FirstLook, ...] = ()
    """Each is enough to rule out what a check finds: it is asked of the one with most of the columns that its
    condition names. None: the fact is always computed."""
    confined_to: Literal["value", "offset"] | None = None
    """The column by which the fact honours `History.value_filter`: the first look may confine it to some values."""

    def __call__(self, history: History) -> DataFrame:
        return self.rows(history)

    def look(self, where: str) -> FirstLook:
        """The one in which most columns of the condition decide something; of equal ones the first."""
        return max(self.looks, key=lambda look: look.knows(where))


def fact(
    *,
    needs: str | None = None,
    looks: Sequence[FirstLook] = (),
    confined_to: Literal["value", "offset"] | None = None,
) -> Callable[[Rows], Fact]:
    """Declares a function to be the fact of its name."""
    return lambda rows: Fact(
        name=rows.__name__, rows=rows, needs=needs, looks=tuple(looks), confined_to=confined_to
    )


def shared(rows: Rows) -> Rows:
    """Declares rows that several facts read: they are computed once for all of them. May also return rows of runs
    that are not in this part of a history (see `History.shared_rows`)."""

    @wraps(rows)
    def computed_once(history: History) -> DataFrame:
        return history.shared_rows(rows.__name__, rows)

    return computed_once


LOG = ["run", "topic", "partition"]
"""The columns that identify a log."""

ACKED = "f = 'send' and type = 'ok'"

POLLED = "f = 'poll' and error is null"
"""A polled record with an intact payload of this run, in the partition to which it was written."""

ABORTED = "f = 'send' and type = 'fail' and transaction is not null"
"""A record of a transaction that was aborted. To readers of committed records and to the cleaner it is no record."""

SESSION = "coalesce(cast(session as bigint), -1 - process)"
"""A process without a session is a session of its own, with a negative number. Declared sessions count from 0."""

TIME = "coalesce(completed, invoked)"
"""ns. An operation that never completed has the time at which it began."""

SERVED = "coalesce(fetched, completed, invoked)"
"""ns. The broker had answered with a polled record by then. `completed` may be much later, because the record waited
in the client's buffer; where the client did not record when the response arrived, it is the only bound."""

MAYBE_ABORTED = "transaction is not null and type <> 'ok'"
"""A send in a transaction that was aborted, or whose outcome is unknown."""


def is_withheld(maybe_aborted: str, isolated: str, isolation: str) -> str:
    """SQL: a record that brokers may withhold from a consumer for good. It is `MAYBE_ABORTED`, no final read with
    read_committed found it (`isolated`), and the consumer is not known to read uncommitted records."""
    return f"coalesce({maybe_aborted} and not {isolated} and {isolation} <> 'read_uncommitted', false)"
