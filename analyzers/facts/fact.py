"""What a fact is, a wide pass over a history that several checks share, and the conditions that several facts use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

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

IDLE_READERS = "readers that got nothing"
"""Besides kinds of operations (f): some reader that the run stopped had got nothing of a log for long."""


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
    confined_to: Literal["value", "offset"] | None = None
    """The column by which the fact honours `History.value_filter`: the prefilter may confine it to some values."""

    def __call__(self, history: History) -> DataFrame:
        return self.rows(history)


def fact(
    *, needs: str | None = None, confined_to: Literal["value", "offset"] | None = None
) -> Callable[[Rows], Fact]:
    """Declares a function to be the fact of its name."""
    return lambda rows: Fact(name=rows.__name__, rows=rows, needs=needs, confined_to=confined_to)


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
