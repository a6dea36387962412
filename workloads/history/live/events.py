"""Holds the operations of the last minutes, and finds those that may break a promise together with new rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.sorting import flat
from workloads.history.live.columns import (
    Logs,
    Mask,
    Numbers,
    at_least,
    both,
    either,
    highest,
    is_in,
    is_one_of,
    numbers,
    sessions,
    times,
)
from workloads.history.live.recent import LONGEST, READING_SPAN, SPAN
from workloads.history.schema import OPERATIONS

OF_TOPICS = ("topic", "alter", "recreate-topic")
"""Kinds that say which logs there are, and with which settings: they count for the whole run."""

REMOVES = '"removes_records": true'
"""In the value of a fault that may remove records, which counts for the whole run as well."""


class RecentOperations:
    """Besides the last minutes, it holds what changed topics or removed records: some rows for each such fault."""

    def __init__(self, *, span: int = SPAN) -> None:
        self._span = span
        self._rows = OPERATIONS.empty_table()
        self._logs = Logs()

    def reading(self, new: pa.Table) -> Numbers:
        """The sessions that read up to an end."""
        rows = pa.concat_tables([self._rows, new]).combine_chunks()
        return pc.unique(sessions(rows).filter(is_one_of(rows, "f", "read")))

    def beside(self, new: pa.Table, records: pa.Table, reading: Numbers, *, now: int) -> pa.Table:
        """The rows of earlier windows that may break a promise together with these new rows.

        records  those of the window.
        reading  the sessions that read up to an end.
        now      the time of the latest record so far, ns.
        """
        mine = self._rows
        active = pa.concat_arrays([sessions(records), sessions(new)])
        active = active.filter(is_in(active, reading))
        of_queues = _of_queues(new)
        return mine.filter(
            either(
                both(
                    is_one_of(mine, "f", "txn"), is_in(numbers(mine, "op"), numbers(records, "transaction"))
                ),
                both(
                    is_one_of(mine, "f", "read"),
                    is_in(sessions(mine), active),
                    at_least(times(mine), now - READING_SPAN),
                ),
                self._farthest_reads(mine),
                is_one_of(mine, "f", "member", "worker"),
                self._lasting(mine),
                both(
                    _of_queues(mine),
                    is_in(
                        self._logs.places(mine, "start_offset"),
                        self._logs.places(new, "start_offset").filter(of_queues),
                    ),
                ),
            )
        )

    def add(self, new: pa.Table, *, now: int) -> None:
        """Hold new rows, and drop what is too old."""
        rows = pa.concat_tables([self._rows, new]).combine_chunks()
        at = times(rows)
        # Of the events of members, nothing in between may be missing.
        longer = either(is_one_of(rows, "f", "member", "worker"), self._farthest_reads(rows))
        held = either(
            at_least(at, now - self._span), self._lasting(rows), both(longer, at_least(at, now - LONGEST))
        )
        self._rows = rows.filter(held).combine_chunks()

    def _lasting(self, rows: pa.Table) -> Mask:
        """What counts for the whole run. Of the requests to delete the records of a log, the farthest one."""
        removes = pc.fill_null(pc.match_substring(flat(rows["value"]), REMOVES), False)
        end = numbers(rows, "end_offset")
        deletes = both(
            is_one_of(rows, "f", "deletion"), pc.invert(is_one_of(rows, "type", "fail")), pc.is_valid(end)
        )
        return either(
            is_one_of(rows, "f", *OF_TOPICS), removes, highest((self._logs.of(rows),), end, deletes)
        )

    def _farthest_reads(self, rows: pa.Table) -> Mask:
        """Per log and session, the completed read with the highest end."""
        end = numbers(rows, "end_offset")
        counts = both(is_one_of(rows, "f", "read"), is_one_of(rows, "type", "ok"), pc.is_valid(end))
        return highest((self._logs.of(rows), sessions(rows)), end, counts)


def _of_queues(rows: pa.Table) -> Mask:
    return is_one_of(rows, "f", "delivery", "acknowledgement")
