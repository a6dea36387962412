"""Narrows a history down to what a fact needs, where that is known from far fewer rows than its records.

To see that a fact finds nothing, or in which offsets it may, takes far less work than to compute it. So it is looked
for first, in a statement of its own, and mostly the fact is then left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.facts.columns import LOG
from analyzers.facts.commit_reaches import commits_above
from analyzers.facts.handovers import assignments_above
from analyzers.facts.members import GROUP_LOG, polls_of_groups
from analyzers.facts.redeliveries import assignments_below
from analyzers.history.load import History
from analyzers.judge import narrow_coordinated, narrow_queues
from analyzers.judge.narrow_copies import of_suspicious_copies
from analyzers.judge.narrow_transactions import of_suspicious_transactions
from analyzers.judge.poll_bits import last_polled

RANGES = 8
"""Ranges of offsets with which each record is compared: with 64 of them, Spark's code became too long for the
compiler, and 6 million records took 13 instead of 1 s of processor time."""

OFFSETS_EACH = 1_000
"""Offsets up to which each record is looked up among them instead."""

MANY = 10_000
"""Ranges from which the fact is computed in full: they are collected."""

Range = tuple[int, int]
"""The lowest and the highest offset."""


def narrow(history: History, fact: str) -> History | None:
    """The part of the history outside of which the fact finds nothing; None: it finds nothing at all. One Spark job
    for facts that can be narrowed down, none for others."""
    if fact in PARTS:
        return PARTS[fact](history)
    make = OFFSETS.get(fact)
    if make is None:
        return history
    ranges = last_polled(history, make(history).select(*LOG, "low", "high"))
    rows = ranges.select("run", "low", "high").distinct().limit(MANY + 1).collect()
    if not rows:
        return None
    if len(rows) > MANY:
        return history
    condition = offset_filter([(row.low, row.high) for row in rows])
    return replace(history.of_runs({row.run for row in rows}), offset_filter=condition)


def offset_filter(ranges: Sequence[Range]) -> str:
    """SQL: the offset lies in one of the ranges, or, if there are many, near one."""
    apart = joined(ranges, at_most=len(ranges))
    if sum(high - low + 1 for low, high in apart) <= OFFSETS_EACH:
        each = ", ".join(f"{offset}L" for low, high in apart for offset in range(low, high + 1))
        return f"offset in ({each})"
    few = joined(apart, at_most=RANGES)
    return "(" + " or ".join(f"offset between {low} and {high}" for low, high in few) + ")"


def joined(ranges: Iterable[Range], *, at_most: int) -> Sequence[Range]:
    """Ranges that contain all of these: overlapping ones joined, and then those with the least between them."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    between = sorted((after[0] - before[1], before[1]) for before, after in pairwise(found))
    ends = {end for _, end in between[: max(0, len(found) - at_most)]}
    kept: list[Range] = []
    for low, high in found:
        if kept and kept[-1][1] in ends:
            kept[-1] = kept[-1][0], high
        else:
            kept.append((low, high))
    return kept


def _polls_again(history: History) -> DataFrame:
    """The polls of which `redeliveries` has rows: it needs the records between these offsets, and no others."""
    return (
        polls_of_groups(history)
        .withColumnRenamed("known", "last")
        .drop("committed")
        .join(F.broadcast(assignments_below(history)), GROUP_LOG)
        .where("process = member and generation = of and assignment = unsought and last > known")
        .where("low <= committed")
        .selectExpr(*LOG, "low", "least(high, committed) as high")
    )


PARTS: Mapping[str, Callable[[History], History | None]] = {
    "copies": of_suspicious_copies,
    "transactional_writes": of_suspicious_transactions,
    **narrow_coordinated.PARTS,
    **narrow_queues.PARTS,
}
"""By fact: the part of a history that it needs; None: it finds nothing."""

OFFSETS: Mapping[str, Callable[[History], DataFrame]] = {
    "commit_reaches": lambda history: commits_above(history).selectExpr(
        *LOG, "reached as low", "offset - 1 as high"
    ),
    "handovers": lambda history: assignments_above(history).selectExpr(
        *LOG, "reached as low", "position - 1 as high"
    ),
    "redeliveries": _polls_again,
}
"""By fact: rows of `LOG`, low and high, the offsets of a log of which it needs the records."""
