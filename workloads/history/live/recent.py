"""Holds the rows of the last minutes, and finds those that may break a promise together with new rows."""

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
    has_one,
    highest,
    in_span,
    is_acknowledged,
    is_in,
    is_one_of,
    newest,
    numbers,
    rows_of,
    sessions,
    times,
)
from workloads.history.schema import OPERATIONS, RECORDS

SECOND = 1_000_000_000

SPAN = 300 * SECOND
"""ns. Two rows that break a promise together are found if they are at most this far apart."""

ROWS = 400_000
"""The most records that are held: some 80 MB."""

OPEN_ROWS = 20_000
"""Of acknowledged sends that nobody has read, the newest ones are held, however old they are."""

READING_SPAN = 60 * SECOND
"""ns before the latest record so far. Of a session that reads to an end, a window with anything new of it has all
that it did from then on."""

GRAIN = 5 * SECOND
"""ns. Of what a session got and wrote in such a time, the highest offset stands for the others."""

LONGEST = 3600 * SECOND
"""ns for which the highest offset of a session is held."""


class Recent:
    """The records: besides the last minutes, it holds sends that nobody has read, and how far each session got.

    Not all of it is judged again with each window, but what shares a value or an offset with a new row, lies in a gap
    of one, or has one in a gap of its own.
    """

    def __init__(self, *, span: int = SPAN, rows: int = ROWS) -> None:
        self._span, self._most = span, rows
        self.rows = RECORDS.empty_table()
        self._logs = Logs()

    def beside(self, new: pa.Table, operations: pa.Table, reading: Numbers, *, now: int) -> pa.Table:
        """The rows of earlier windows that may break a promise together with these new rows.

        reading  the sessions that read up to an end.
        now      the time of the latest record so far, ns.
        """
        mine = self._without(new)
        is_txn = is_one_of(operations, "f", "txn")
        of_ended = is_in(numbers(mine, "transaction"), numbers(operations, "op").filter(is_txn))
        places, new_places = self._logs.places(mine), self._logs.places(new)
        value = numbers(mine, "value")
        everything = pa.concat_tables([mine, new]).combine_chunks()
        unread = self._unread(everything)
        waited_for = self._logs.places(everything).filter(unread)
        active = _common(pa.concat_arrays([sessions(new), sessions(operations)]), reading)
        return mine.filter(
            either(
                of_ended,
                is_in(value, pa.concat_arrays([numbers(new, "value"), value.filter(of_ended)])),
                is_in(places, new_places),
                in_span(places, *self._gaps(new)),
                # A step that leaves out the offset of an unread send, or gets something else there, passes it.
                has_one(*self._gaps(mine), pa.concat_arrays([new_places, waited_for])),
                both(is_one_of(mine, "f", "poll"), is_in(places, waited_for)),
                unread[: len(mine)],
                both(is_in(sessions(mine), active), at_least(times(mine), now - READING_SPAN)),
                # The facts know the time from the latest record.
                pc.equal(times(mine), now if newest(new) < now else -1),
                self._farthest(mine, now),
            )
        )

    def add(self, new: pa.Table, *, now: int) -> None:
        """Hold new rows instead of what they replace, and drop what is too old."""
        rows = pa.concat_tables([self._without(new), new]).combine_chunks()
        at, unread = times(rows), self._unread(rows)
        held = either(
            at_least(at, now - self._span),
            both(unread, at_least(at, _least_of_newest(at.filter(unread), OPEN_ROWS))),
            both(self._farthest(rows, now), at_least(at, now - LONGEST)),
        )
        held = both(held, at_least(at, _least_of_newest(at.filter(held), self._most)))
        self.rows = rows.filter(held).combine_chunks()

    def forget(self, process: int) -> None:
        """Some records of the process are left out: what it did is not known any more."""
        self.rows = self.rows.filter(pc.not_equal(self.rows["process"], process))

    def _without(self, new: pa.Table) -> pa.Table:
        """What is held and not replaced by new rows."""
        return self.rows.filter(pc.invert(is_in(rows_of(self.rows), rows_of(new)))).combine_chunks()

    def _unread(self, rows: pa.Table) -> Mask:
        value = numbers(rows, "value")
        polled = value.filter(is_one_of(rows, "f", "poll"))
        return both(is_acknowledged(rows), pc.invert(is_in(value, polled)))

    def _farthest(self, rows: pa.Table, now: int) -> Mask:
        """The row with the highest offset for each log and session that sends, of its sends and of its polls, in each
        `GRAIN` of the last time, and of all before."""
        at, key, acked = times(rows), sessions(rows), is_acknowledged(rows)
        is_polled = both(is_one_of(rows, "f", "poll"), pc.is_valid(flat(rows["offset"])))
        counts = both(either(acked, is_polled), is_in(key, pc.unique(key.filter(acked))))
        grain = pc.if_else(at_least(at, now - READING_SPAN), pc.divide(at, GRAIN), -1)
        return highest((self._logs.of(rows), key, acked, grain), numbers(rows, "offset"), counts)

    def _gaps(self, rows: pa.Table) -> tuple[Numbers, Numbers]:
        """Of each row: the first and the last place that its step leaves out, if it leaves out any."""
        return pc.add(self._logs.places(rows, "previous"), 1), pc.subtract(self._logs.places(rows), 1)


def _common(some: Numbers, others: Numbers) -> Numbers:
    unique = pc.unique(some)
    return unique.filter(is_in(unique, others))


def _least_of_newest(at: Numbers, most: int) -> int:
    """The time from which on there are at most so many; 0 if there are no more."""
    if len(at) <= most:
        return 0
    return int(at.take(pc.sort_indices(at)[-most:][:1])[0].as_py())


OF_TOPICS = ("topic", "alter", "recreate-topic")
"""Kinds that say which logs there are, and with which settings: they count for the whole run."""

REMOVES = '"removes_records": true'
"""In the value of a fault that may remove records, which counts for the whole run as well."""


class RecentOperations:
    """The operations: besides the last minutes, it holds what changed topics or removed records: some rows for each
    such fault."""

    def __init__(self, *, span: int = SPAN) -> None:
        self._span = span
        self.rows = OPERATIONS.empty_table()
        self._logs = Logs()

    def reading(self, new: pa.Table) -> Numbers:
        """The sessions that read up to an end."""
        rows = pa.concat_tables([self.rows, new]).combine_chunks()
        return pc.unique(sessions(rows).filter(is_one_of(rows, "f", "read")))

    def beside(self, new: pa.Table, records: pa.Table, reading: Numbers, *, now: int) -> pa.Table:
        """The rows of earlier windows that may break a promise together with these new rows.

        records  those of the window.
        reading  the sessions that read up to an end.
        now      the time of the latest record so far, ns.
        """
        mine = self.rows
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
        rows = pa.concat_tables([self.rows, new]).combine_chunks()
        at = times(rows)
        # Of the events of members, nothing in between may be missing.
        longer = either(is_one_of(rows, "f", "member", "worker"), self._farthest_reads(rows))
        held = either(
            at_least(at, now - self._span), self._lasting(rows), both(longer, at_least(at, now - LONGEST))
        )
        self.rows = rows.filter(held).combine_chunks()

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
