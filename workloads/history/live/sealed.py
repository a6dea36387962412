"""Finds the segments that were sealed since the last look, in the order in which each process wrote them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from workloads.history.segments import NAME, SEALED, segment

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
    """Each segment is returned once. Memory grows with the number of processes, some 200 bytes each."""

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
