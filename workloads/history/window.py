"""The last minutes of a history that is still being written, as tables that can be judged."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from workloads.history.compaction.compact import SORT
from workloads.history.compaction.joining import joined, not_completed
from workloads.history.compaction.order import with_previous
from workloads.history.compaction.sorting import flat, in_order, numbered
from workloads.history.reader import read
from workloads.history.schema import HARNESS, NEMESIS, TABLES
from workloads.history.segments import NAME, OPEN, segment

SPAN = 300.0
"""Seconds. Events that are at most this far apart are judged together."""

LIMIT = 64 << 20
"""Bytes of segments, some 400,000 records. Making tables of them takes a few times as much memory."""

KEPT = ("records", "operations")
"""Tables that are judged live."""

CONTROL = (HARNESS, NEMESIS)
"""Processes that are no clients."""


class Part(NamedTuple):
    """A sealed segment. `at`: when it was last written, s."""

    at: float
    path: Path
    size: int


class Window:
    """The segments sealed within the last `span` seconds, without gaps for each process.

    limit   bytes; the oldest segments beyond it are dropped. The newest one always stays. May be changed.
    missed  number of segments dropped before any call of `tables` returned them.
    Memory grows with the span, not with the history: the folder is listed name by name.
    """

    def __init__(self, history: Path, *, span: float = SPAN, limit: int = LIMIT) -> None:
        self.missed = 0
        self._folder = history / "segments"
        self._span, self.limit = span, limit
        self._parts: defaultdict[tuple[str, int], deque[Part]] = defaultdict(deque)
        self._next: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._control = TABLES["operations"].empty_table()
        """The rows of the harness and the nemesis in all windows so far."""
        self._new: set[Path] = set()

    def advance(self) -> bool:
        """Add the segments sealed since the last call and drop old ones. Returns whether there are new ones."""
        for key, number, path in sorted(self._sealed()):
            # Only consecutive segments: with a gap, the order of a process is unknown.
            if number == self._next[key]:
                about = path.stat()
                self._parts[key].append(Part(about.st_mtime, path, about.st_size))
                self._next[key] += 1
                self._new.add(path)
        newest = max((parts[-1].at for parts in self._parts.values()), default=0.0)
        size = sum(part.size for parts in self._parts.values() for part in parts)
        while len(self._paths()) > 1:
            key = min(self._parts, key=lambda key: self._parts[key][0])
            oldest = self._parts[key][0]
            if oldest.at >= newest - self._span and size <= self.limit:
                break
            self._parts[key].popleft()
            if not self._parts[key]:
                del self._parts[key]
            size -= oldest.size
            self.missed += oldest.path in self._new
            self._new.discard(oldest.path)
        return bool(self._new)

    def tables(self) -> dict[str, pa.Table]:
        """The rows by table; records as returned by `certain`."""
        parts = {
            table: pa.concat_tables(
                [TABLES[table].empty_table(), *(read(path, TABLES[table]) for path in self._paths(table))]
            )
            for table in KEPT
        }
        self._new.clear()
        operations = parts["operations"]
        is_control = pc.is_in(operations["process"], value_set=pa.array(CONTROL, pa.int32()))
        # The settings of a topic decide what may be missing from it, however long ago it was created. A topic that
        # was created again is another log from then on, and the deletion is on disk before the creation is requested:
        # these segments are read last, so that their rows are not older than the records.
        control = pa.concat_tables([operations.filter(is_control), *self._open_control()])
        known = pc.is_in(self._control["op"], value_set=control["op"].combine_chunks())
        self._control = pa.concat_tables([self._control.filter(pc.invert(known)), control])
        parts["operations"] = pa.concat_tables([self._control, operations.filter(pc.invert(is_control))])
        return parts | {"records": certain(parts["records"])}

    def _open_control(self) -> Iterator[pa.Table]:
        """Of the harness and the nemesis also the segments after the last known one: they write few rows, each of
        them at once, and their segments stay open for long."""
        for process in CONTROL:
            number = self._next["operations", process]
            while (rows := self._operations(process, number)) is not None:
                yield rows
                number += 1

    def _operations(self, process: int, number: int) -> pa.Table | None:
        """The rows of a segment, which may be sealed at any moment; None if there is no such segment."""
        for is_sealed in (False, True):
            path = segment(self._folder.parent, "operations", process, number, sealed=is_sealed)
            with suppress(FileNotFoundError):
                return read(path, TABLES["operations"])
        return None

    def _sealed(self) -> list[tuple[tuple[str, int], int, Path]]:
        found = []
        if self._folder.is_dir():
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if (name := NAME.fullmatch(entry.name)) and not entry.name.endswith(OPEN):
                        key, number = (name["table"], int(name["process"])), int(name["number"])
                        if key[0] in KEPT and number >= self._next[key]:
                            found.append((key, number, Path(entry.path)))
        return found

    def _paths(self, *tables: str) -> list[Path]:
        return [
            part.path for key, parts in self._parts.items() if key[0] in (tables or KEPT) for part in parts
        ]


def certain(records: pa.Table) -> pa.Table:
    """The records of one run as compaction makes them, except that ``previous`` holds only steps that cannot change.

    The rows of each process are consecutive, but not complete. Two records that look like neighbours in a log may
    later turn out not to be: a send between them may still be acknowledged, or its completion may come later than the
    window. Whether a member kept its partition in a new generation is known only from operations that may come later.
    So no step crosses such a send or the beginning of a generation. To achieve that, `generation` of sends and
    `assignment` of polls are replaced by numbers of such stretches.
    """
    rows = in_order(records.combine_chunks(), ("process", "index"), not_completed).combine_chunks()
    polled, waiting = pc.equal(rows["f"], "poll"), flat(pc.equal(rows["type"], "invoke"))
    process, index = flat(rows["process"]), flat(rows["index"])
    is_next = pc.and_(pc.equal(process[1:], process[:-1]), pc.equal(index[1:], pc.add(index[:-1], 1)))
    is_settled = pc.invert(pc.or_(waiting[1:], waiting[:-1]))
    begins = pc.cast(pc.invert(pc.and_(is_next, is_settled)), pa.int32())
    stretch = pa.concat_arrays([pa.array([0], pa.int32())[: len(rows)], pc.cumulative_sum(begins)])
    assignment, _ = numbered(rows["assignment"])
    generation, _ = numbered(rows["generation"])
    count = (pc.max(generation).as_py() or 0) + 1
    both = pc.cast(pc.add(pc.multiply(assignment, count), generation), pa.int32())
    rows = _replaced(rows, "generation", pc.if_else(polled, rows["generation"], stretch))
    rows = _replaced(rows, "assignment", pc.if_else(polled, both, rows["assignment"]))
    return pa.concat_tables(with_previous([in_order(joined(rows), SORT["records"])]))


def _replaced(rows: pa.Table, name: str, column: pa.ChunkedArray) -> pa.Table:
    position = rows.schema.get_field_index(name)
    return rows.set_column(position, rows.schema.field(name), column)
