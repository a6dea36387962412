"""When replicas were missing from the ISR of some partition, or a partition had no leader, as brokers saw it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from analyzers.history.load import History

Gap = tuple[int, int | None]
"""Begin and end in ns; the end is None if no sample shows it."""


@dataclass(frozen=True, kw_only=True)
class Replication:
    """Of one run. `until` is the time (ns) up to which every partition was sampled."""

    gaps: tuple[Gap, ...]
    until: int

    def whole_since(self, time: int) -> int | None:
        """The first time from then on (ns) without a gap; None if no sample shows it."""
        for begin, end in sorted(self.gaps):
            if begin <= time and (end is None or time < end):
                if end is None:
                    return None
                time = end
        return time if time <= self.until else None


def replication(history: History) -> dict[str, Replication]:
    """By run id, for every run with samples of partitions. Takes one Spark job."""
    of_logs: dict[str, dict[tuple[str, int], list[Row]]] = {}
    for row in history.rows(_CHANGES):
        of_logs.setdefault(row.run, {}).setdefault((row.topic, row.partition), []).append(row)
    return {
        run: Replication(
            gaps=tuple(gap for rows in logs.values() for gap in gaps_of(rows)),
            until=min(rows[0].until for rows in logs.values()),
        )
        for run, logs in of_logs.items()
    }


def gaps_of(changes: Sequence[Row]) -> Iterable[Gap]:
    """changes: of one log, from complete to incomplete and back, in any order."""
    begin: int | None = None
    for change in sorted(changes, key=lambda row: (row.leader_epoch, row.time)):
        if change.is_short and begin is None:
            begin = change.time
        elif not change.is_short and begin is not None:
            yield begin, max(begin, change.time)
            begin = None
    if begin is not None:
        yield begin, None


_CHANGES = """
    with seen as (
        select run, topic, partition, time, leader_epoch,
            leader < 0 or size(isr) < max(size(isr)) over (partition by run, topic, partition) as is_short,
            max(time) over (partition by run, topic, partition) as until
        from {observations} where kind = 'partition' and isr is not null and (leader = node or leader < 0)
    ), beside as (
        select *, lag(is_short) over (partition by run, topic, partition order by leader_epoch, time) as before
        from seen
    )
    select run, topic, partition, time, leader_epoch, is_short, until from beside
    where before is distinct from is_short
"""
"""Of each log the samples that differ from the one before them. A leader's own view counts, because the others learn
of an ISR later. Views are in the order of epochs, so that a leader that was replaced says nothing about later times.
All replicas are in sync where the ISR is as large as at any time of the run."""
