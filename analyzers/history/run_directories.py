"""Where the rows of each run lie, so that a part of a history is read from the files of its runs only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame

from analyzers.history.sources import Source, as_listed

MANY = 8
"""Run directories from which the directories of runs are looked for, which is one more job."""

Tables = Mapping[str, DataFrame]
"""By name."""


class RunDirectories:
    """The directories of several runs. Safe to use from several threads.

    A run lies in one directory, but its name may be another, and tests put several runs into one. So the rows say
    which runs a directory has; they are asked once, when a part is read first.

    whole  tables, as Spark reads them from all directories.
    part   reads these tables from some of the directories.
    """

    def __init__(
        self, runs: Sequence[Source], whole: Tables, part: Callable[[Sequence[Source]], Tables]
    ) -> None:
        self._runs, self._whole, self._part = runs, whole, part
        self._lock = threading.Lock()
        self._by_run: Mapping[str, set[int]] | None = None
        self._parts: dict[tuple[int, ...], Tables] = {}

    def tables(self, runs: Collection[str]) -> Tables:
        """The tables, read from the directories of these runs; none where that leaves out less than half of them."""
        with self._lock:
            if self._by_run is None:
                self._by_run = self._look()
            some = tuple(sorted({number for run in runs for number in self._by_run.get(run, ())}))
            if not some or 2 * len(some) > len(self._runs):
                return {}
            if some not in self._parts:
                self._parts[some] = self._part([self._runs[number] for number in some])
            return self._parts[some]

    def _look(self) -> dict[str, set[int]]:
        """The directories of each run by their number; nothing if rows lie in none of the directories."""
        folders = {_folder(file): number for number, run in enumerate(self._runs) for file in _files(run)}
        found: dict[str, set[int]] = {}
        for row in _placed(self._whole).collect():
            number = folders.get(as_listed(row.folder))
            if number is None:  # the file system spells it in another way
                return {}
            found.setdefault(row.run, set()).add(number)
        return found


def _placed(tables: Tables) -> DataFrame:
    """Rows of: run, and the folder of a table in which it has rows, as a URI."""
    files = (table.selectExpr("run", "input_file_name() as file").distinct() for table in tables.values())
    folders = (each.selectExpr("run", "regexp_replace(file, '/[^/]*$', '') as folder") for each in files)
    return reduce(DataFrame.union, folders).distinct()


def _files(run: Source) -> list[str]:
    return [file for files in run.files.values() for file in files]


def _folder(file: str) -> str:
    folder = file.rpartition("/")[0]
    return f"file:{folder}" if folder.startswith("/") else folder
