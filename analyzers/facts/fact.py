"""What a fact is: a wide pass over a history that several checks share."""

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
