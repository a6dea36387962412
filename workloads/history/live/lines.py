"""Joins the rows of each process to a line without gaps, window by window, and fills in steps that cannot change."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.compact import SORT
from workloads.history.compaction.sorted_records import joined, not_completed, with_previous
from workloads.history.compaction.sorting import flat, in_order
from workloads.history.live.columns import (
    Mask,
    Numbers,
    at_least,
    both,
    either,
    is_acknowledged,
    is_in,
    is_one_of,
    newest,
    numbers,
    positions,
    rows_of,
    times,
)
from workloads.history.schema import RECORDS

SEND_SPAN = 300_000_000_000
"""ns after which the end of a send is no longer waited for."""

LINE_SPAN = 3_600_000_000_000
"""ns after which the line of a process that recorded nothing more is forgotten."""


class Lines:
    """What the order of the rows of each process needs of earlier windows.

    It holds the last record of each process in each log, and of each process the rows from its first send on that is
    still under way. So its memory grows with the number of processes of the last hour, not with the run.
    """

    def __init__(self) -> None:
        self.settled = RECORDS.empty_table()
        """Per process and log the last poll and the last acknowledged send before `_base`. Their `index` counts down
        from it, so that they are neighbours of what follows."""
        self.open = RECORDS.empty_table()
        self._base: dict[int, int] = {}
        """By process: the index from which on rows are still to come, or may change."""

    def take(self, new: pa.Table) -> pa.Table:
        """The new rows and those that changed, as compaction makes them, except that ``previous`` holds only steps
        that cannot change.

        Two records that look like neighbours in a log may later turn out not to be: a send between them may still be
        acknowledged. Whether a member kept its partition in a new generation is known only from operations that may
        come later. So no step crosses such a send, a gap, or the beginning of a generation. To achieve that,
        `generation` of sends and `assignment` of polls are replaced by numbers of such stretches.
        """
        is_late = self._is_late(new)
        late, new = new.filter(is_late), new.filter(pc.invert(is_late))
        carried = rows_of(self.settled)
        raw = pa.concat_tables([self.settled, self.open, new]).combine_chunks()
        rows = in_order(raw, ("process", "index"), not_completed).combine_chunks()
        waiting = is_one_of(rows, "type", "invoke")
        stretch = _stretches(rows, waiting)
        result = _with_steps(rows, stretch)
        self._remember(rows, waiting, stretch)
        return pa.concat_tables([
            result.filter(pc.invert(is_in(rows_of(result), carried))), _without_steps(joined(late)),
        ])  # fmt: skip

    def forget(self, process: int) -> None:
        """Rows of the process are left out: what follows is no neighbour of what was before."""
        self._base.pop(process, None)
        self.settled = self.settled.filter(pc.not_equal(self.settled["process"], process))
        self.open = self.open.filter(pc.not_equal(self.open["process"], process))

    def _is_late(self, new: pa.Table) -> Mask:
        """Ends of sends for which nobody waited any more."""
        process = numbers(new, "process")
        some = pc.unique(process)
        base = pa.array([self._base.get(each, 0) for each in some.to_pylist()], pa.int64())
        return pc.less(numbers(new, "index"), pc.take(base, pc.index_in(process, value_set=some)))

    def _remember(self, rows: pa.Table, waiting: Mask, stretch: Numbers) -> None:
        process, index, at = numbers(rows, "process"), numbers(rows, "index"), times(rows)
        now, position = newest(rows), positions(rows)
        is_awaited = both(waiting, at_least(at, now - SEND_SPAN))
        lines = pa.table({
            "process": process, "position": position, "at": at, "awaited": pc.if_else(is_awaited, position, None),
        }).group_by("process").aggregate([
            ("position", "min"), ("position", "max"), ("at", "max"), ("awaited", "min"),
        ])  # fmt: skip
        last, awaited = flat(lines["position_max"]), flat(lines["awaited_min"])
        # The first send of each process that is waited for; the end of its rows if there is none.
        first = pc.coalesce(awaited, pc.add(last, 1))
        base = pc.if_else(pc.is_valid(awaited), index.take(awaited), pc.add(index.take(last), 1))
        # A send counts only if nothing between it and the base is unknown.
        before = stretch.take(pc.max_element_wise(pc.subtract(first, 1), flat(lines["position_min"])))
        is_alive = at_least(flat(lines["at_max"]), now - LINE_SPAN)
        known = pc.filter(flat(lines["process"]), is_alive).to_pylist()
        self._base = dict(zip(known, pc.filter(base, is_alive).to_pylist(), strict=True))
        line = pc.index_in(process, value_set=flat(lines["process"]))
        is_open = at_least(position, first.take(line))
        is_kept = is_alive.take(line)
        self.open = rows.filter(both(is_open, is_kept))
        is_done = either(
            both(is_acknowledged(rows), pc.equal(stretch, before.take(line))),
            both(is_one_of(rows, "f", "poll"), pc.is_valid(flat(rows["offset"]))),
        )
        chosen = _last_of_lines(rows, both(is_done, pc.invert(is_open), is_kept))
        self.settled = _renumbered(rows.take(chosen), base.take(line.take(chosen)))


def certain(records: pa.Table) -> pa.Table:
    """The records of one window on its own, see `Lines.take`."""
    return Lines().take(records)


def _stretches(rows: pa.Table, waiting: Mask) -> Numbers:
    """A number for each stretch of rows of a process without a gap and without a send that is under way."""
    process, index = numbers(rows, "process"), numbers(rows, "index")
    is_next = pc.and_(pc.equal(process[1:], process[:-1]), pc.equal(index[1:], pc.add(index[:-1], 1)))
    is_settled = pc.invert(pc.or_(waiting[1:], waiting[:-1]))
    begins = pc.cast(pc.invert(pc.and_(is_next, is_settled)), pa.int64())
    return pa.concat_arrays([pa.array([0], pa.int64())[: len(rows)], pc.cumulative_sum(begins)])


def _with_steps(rows: pa.Table, stretch: Numbers) -> pa.Table:
    polled = is_one_of(rows, "f", "poll")
    assignment, generation = numbers(rows, "assignment"), numbers(rows, "generation")
    # Equal in all windows, and different for neighbouring generations.
    in_generation = pc.bit_wise_or(
        pc.shift_left(pc.bit_wise_and(assignment, 0x7FFF), 16), pc.bit_wise_and(generation, 0xFFFF)
    )
    placed = pc.if_else(polled, pc.coalesce(in_generation, assignment), assignment)
    rows = _replaced(rows, "generation", pc.if_else(polled, generation, stretch))
    rows = _replaced(rows, "assignment", placed)
    return pa.concat_tables(with_previous([in_order(joined(rows), SORT["records"])]))


def _without_steps(rows: pa.Table) -> pa.Table:
    for name in ("previous", "within"):
        rows = _replaced(rows, name, pa.nulls(len(rows)))
    return rows


def _last_of_lines(rows: pa.Table, counts: Mask) -> Numbers:
    """The last of these rows per process, log and f, in the order of the rows."""
    keys = ["process", "topic", "partition", "f"]
    numbered = rows.select(keys).append_column("row", positions(rows)).filter(counts)
    found = flat(numbered.group_by(keys).aggregate([("row", "max")])["row_max"])
    return found.take(pc.sort_indices(found))


def _renumbered(rows: pa.Table, base: Numbers) -> pa.Table:
    """The rows of each process with the indexes just below its base. They are in order."""
    process, position = numbers(rows, "process"), positions(rows)
    ends = (
        pa.table({"process": process, "position": position})
        .group_by("process")
        .aggregate([("position", "max")])
    )
    end = flat(ends["position_max"]).take(pc.index_in(process, value_set=flat(ends["process"])))
    return _replaced(rows, "index", pc.subtract(base, pc.add(pc.subtract(end, position), 1)))


def _replaced(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    at = rows.schema.get_field_index(name)
    field = rows.schema.field(name)
    return rows.set_column(at, field, column.cast(field.type))
