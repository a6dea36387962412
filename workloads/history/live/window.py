"""Cuts a history that is still being written into windows, each of which is judged once.

A window has the rows of the segments that were sealed since the last one, and those rows of earlier windows that
may break a promise together with them: `lines` and `recent` hold what may still be needed. It does not grow
with the length of the run, and no segment is read twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from workloads.history.live.columns import newest
from workloads.history.live.lines import Lines
from workloads.history.live.recent import Recent, RecentOperations
from workloads.history.schema import HARNESS, NEMESIS, TABLES
from workloads.history.segments import NAME, SEALED, read, segment

LIMIT = 64 << 20
"""Bytes of the segments of one window, some 400,000 records. Tables of them take a few times as much memory."""

MOST = 4
"""Segments for so many windows may wait. Beyond that, the oldest records are left out."""

KEPT = ("records", "operations")
"""Tables that are judged live."""

CONTROL = (HARNESS, NEMESIS)
"""Processes that are no clients."""


class Carried:
    """What is carried from window to window."""

    def __init__(self) -> None:
        self.lines, self.recent, self.operations = Lines(), Recent(), RecentOperations()
        self._now = 0
        """The time of the latest record so far, ns."""

    def join(self, records: pa.Table, operations: pa.Table) -> dict[str, pa.Table]:
        """The tables of a window with these new rows, as segments have them. Of each process they follow its last
        ones."""
        lines = self.lines.take(records).combine_chunks()
        now = self._now = max(self._now, newest(lines))
        reading = self.operations.reading(operations)
        beside = self.recent.beside(lines, operations, reading, now=now)
        window = pa.concat_tables([lines, beside]).combine_chunks()
        known = self.operations.beside(operations, window, reading, now=now)
        self.recent.add(lines, now=now)
        self.operations.add(operations, now=now)
        return {"records": window, "operations": pa.concat_tables([known, operations]).combine_chunks()}

    def forget(self, process: int) -> None:
        """Records of the process are left out: the next ones do not follow its last ones, and may not show all that
        it did."""
        self.lines.forget(process)
        self.recent.forget(process)


class Window:
    """The segments that were sealed since the last window, without gaps for each process.

    limit   bytes of the segments of the next window; at least one segment is in it. May be changed.
    missed  number of segments that were left out, because more and more of them waited.
    waits   whether segments wait for the next window.
    """

    def __init__(self, history: Path, *, limit: int = LIMIT) -> None:
        self.missed = 0
        self.limit = limit
        self._history = history
        self._segments = SealedSegments(history, KEPT)
        self._waiting: list[Part] = []
        self.carried = Carried()
        self._taken: dict[tuple[int, int], int] = {}
        """Rows of the harness and the nemesis that were read from a segment that was still open."""

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def advance(self) -> dict[str, pa.Table] | None:
        """The tables of the next window; None if no segment was sealed. Records are as returned by `Lines`."""
        self._waiting = sorted([*self._waiting, *self._segments.take()])
        if not self._waiting:
            return None
        parts = self._next_parts()
        new = {table: self._read(table, parts) for table in KEPT}
        # A topic that was created again is another log from then on, and the deletion is on disk before the creation
        # is requested: these segments are read last, so that their rows are not older than the records.
        control = list(self._open_control())
        operations = pa.concat_tables([new["operations"], *control]).combine_chunks()
        return self.carried.join(new["records"], operations)

    def _next_parts(self) -> list[Part]:
        """The oldest segments, up to the limit. Operations are never left out: they say what may be missing."""
        size = sum(part.size for part in self._waiting)
        rest: list[Part] = []
        for part in self._waiting:
            if size > MOST * self.limit and part.table == "records" and part is not self._waiting[-1]:
                size -= part.size
                self.missed += 1
                self.carried.forget(part.process)
            else:
                rest.append(part)
        parts, total = [rest[0]], rest[0].size
        for part in rest[1:]:
            total += part.size
            if total > self.limit:
                break
            parts.append(part)
        self._waiting = rest[len(parts) :]
        return parts

    def _read(self, table: str, parts: list[Part]) -> pa.Table:
        rows = [TABLES[table].empty_table()]
        for part in parts:
            if part.table == table:
                taken = self._taken.pop((part.process, part.number), 0) if part.process in CONTROL else 0
                rows.append(read(part.path, TABLES[table]).slice(taken))
        return pa.concat_tables(rows).combine_chunks()

    def _open_control(self) -> Iterator[pa.Table]:
        """New rows of the harness and the nemesis from segments after the last sealed one: they write few rows, each
        of them at once, and their segments stay open for long."""
        for process in CONTROL:
            number = self._first_unread(process)
            while (rows := self._read_control(process, number)) is not None:
                taken = self._taken.get((process, number), 0)
                self._taken[process, number] = len(rows)
                yield rows.slice(taken)
                number += 1

    def _first_unread(self, process: int) -> int:
        """Segments that wait are read now, and once they are in a window only what came later."""
        waiting = [
            part.number for part in self._waiting if (part.table, part.process) == ("operations", process)
        ]
        return min(waiting, default=self._segments.next_number("operations", process))

    def _read_control(self, process: int, number: int) -> pa.Table | None:
        """The rows of a segment, which may be sealed at any moment; None if there is no such segment."""
        for is_sealed in (False, True):
            path = segment(self._history, "operations", process, number, sealed=is_sealed)
            with suppress(FileNotFoundError):
                return read(path, TABLES["operations"])
        return None


FIRST = f"-0{SEALED}"


class Part(NamedTuple):
    """A sealed segment, in the order of sealing. `at`: when it was last written, s."""

    at: float
    table: str
    process: int
    number: int
    path: Path
    size: int


class SealedSegments:
    """Finds the segments that were sealed since the last look, in the order in which each process wrote them. Each is
    returned once. Memory grows with the number of processes, some 200 bytes each."""

    def __init__(self, history: Path, tables: tuple[str, ...]) -> None:
        self._history, self._tables = history, tables
        self._next: dict[tuple[str, int], int] = {}

    def take(self) -> list[Part]:
        """The segments sealed since the last call; of each process only consecutive ones, because with a gap the
        order of its rows is unknown."""
        self._find_processes()
        return sorted(part for table, process in self._next for part in self._of_process(table, process))

    def next_number(self, table: str, process: int) -> int:
        """Of the segment that is to be sealed next."""
        return self._next.get((table, process), 0)

    def _of_process(self, table: str, process: int) -> Iterator[Part]:
        while True:
            number = self._next[table, process]
            path = segment(self._history, table, process, number)
            try:
                about = path.stat()
            except FileNotFoundError:
                return
            self._next[table, process] += 1
            yield Part(about.st_mtime, table, process, number, path, about.st_size)

    def _find_processes(self) -> None:
        """From the names of first segments only: after a day, the folder has some 100,000 names."""
        try:
            names = os.listdir(self._history / "segments")
        except FileNotFoundError:
            return
        for each in names:
            if each.endswith(FIRST) and (name := NAME.fullmatch(each)) and name["table"] in self._tables:
                self._next.setdefault((name["table"], int(name["process"])), 0)
