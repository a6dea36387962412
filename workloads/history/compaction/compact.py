"""From the segments of a run to the Parquet files that are analysed, in bounded memory."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import shutil
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workloads.history.compaction.bucketing import BUCKET, by_bucket, with_bucket
from workloads.history.compaction.joining import joined, not_completed
from workloads.history.compaction.order import with_previous
from workloads.history.compaction.prefetch import prefetched
from workloads.history.compaction.sorting import chunks, externally_sorted
from workloads.history.layout import BUCKETS, WHOLE, file_name
from workloads.history.parquet import row_groups, write
from workloads.history.reader import batches, is_cut
from workloads.history.schema import FORMAT, TABLES
from workloads.history.segments import segments

log = logging.getLogger(__name__)

SORT = {
    "records": ("topic", "partition", "process", "f", "assignment", "index"),
    "operations": ("invoked", "process", "op"),
    "observations": ("time", "process"),
}

MEMORY = 64 << 20
"""Bytes of rows that are sorted at a time; what compaction needs is some seven times as much."""

CANNOT_LOCK = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP}

LARGE = 192 << 20
"""Bytes of records in segments, a million of them or so, from which on they are divided into buckets: below, Spark
opens files for longer than it reads them."""


def compact(run: Path, *, memory: int = MEMORY, large: int = LARGE) -> dict[str, int]:
    """Turn ``<run>/history/segments`` into Parquet files ``<run>/history/<table>/*.parquet``; rows by table.

    Files are named and divided as `layout` says. Histories may be larger than memory: `memory` bytes of
    rows are held at a time, and the rest is sorted on disk, beside the segments.

    Repeatable: a compaction that was interrupted starts over, one that was finished is left as it is.
    Segments go only when everything else is in place. A run that recorded nothing gets empty tables. Whoever comes
    second, in whatever process, waits for the first. Raises FileNotFoundError without a run directory, ValueError for
    a history of another format.
    """
    if not run.is_dir():
        raise FileNotFoundError(f"run directory {run} does not exist: nothing to compact")
    history = run / "history"
    history.mkdir(exist_ok=True)
    with _alone(history):
        return _compact_all(history, memory, large)


@contextmanager
def _alone(history: Path) -> Iterator[None]:
    """Two at once would take each other's unfinished tables for their own, and remove the segments of both.

    The folder itself is locked: that leaves nothing behind, and ends with the process however that ends. Some network
    file systems cannot lock a folder; there nobody waits for anybody.
    """
    folder = os.open(history, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in CANNOT_LOCK:
                raise
            log.warning("%s cannot be locked (%s): nothing else may compact it now", history, error.strerror)
        yield
    finally:
        os.close(folder)


def _compact_all(history: Path, memory: int, large: int) -> dict[str, int]:
    source, discarded = history / "segments", history / "segments.discarded"
    _check_format(history)
    shutil.rmtree(discarded, ignore_errors=True)
    cut = [path.stem for path in sorted(source.glob("*.arrows")) if is_cut(path)]
    for name in TABLES:
        # Without segments, tables are either finished or were never begun.
        if source.is_dir() or not _parts(history, name):
            _compact(history, name, memory, large)
    rows = {
        name: {part.name: pq.read_metadata(part).num_rows for part in _parts(history, name)}
        for name in TABLES
    }
    if source.is_dir() or not (history / "format.json").exists():
        _write_format(history, cut, rows)
    if source.is_dir():
        # One step decides: a half removed folder must not look like a history to be compacted.
        source.rename(discarded)
        shutil.rmtree(discarded)
    return {name: sum(parts.values()) for name, parts in rows.items()}


def _compact(history: Path, name: str, memory: int, large: int) -> None:
    place, unfinished = history / name, history / f".{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with _sorted(history, name, memory, large, unfinished / "spill") as rows:
        if name == "records":
            rows = with_previous(joined(table) for table in rows)
        # The next row group is merged while one is encoded: never more than these two are held.
        with closing(prefetched(_groups(rows))) as groups:
            # A table of no rows has no buckets, and is a file all the same.
            for bucket, tables in groupby(groups, key=itemgetter(0)):
                file = WHOLE if bucket is None else file_name(bucket, BUCKETS)
                write(unfinished / file, (table for _, table in tables), TABLES[name])
    if not any(unfinished.iterdir()):
        write(unfinished / WHOLE, [], TABLES[name])
    shutil.rmtree(place, ignore_errors=True)
    unfinished.rename(place)


def _groups(rows: Iterable[pa.Table]) -> Generator[tuple[int | None, pa.Table]]:
    """Row groups, each with its bucket."""
    for bucket, tables in groupby(by_bucket(rows), key=itemgetter(0)):
        for group in row_groups(table for _, table in tables):
            yield bucket, group


@contextmanager
def _sorted(history: Path, name: str, memory: int, large: int, spill: Path) -> Iterator[Iterator[pa.Table]]:
    paths = segments(history, name)
    size = sum(path.stat().st_size for path in paths)
    divided = name == "records" and size >= large
    keys = (BUCKET, *SORT[name]) if divided else SORT[name]
    thin = not_completed if name == "records" else None
    with (
        # The next chunk is read while one is sorted.
        closing(prefetched(_chunks(paths, TABLES[name], memory, BUCKETS if divided else None))) as rows,
        externally_sorted(rows, keys, spill=spill, memory=memory, expected=size, thin=thin) as tables,
    ):
        yield tables


def _chunks(paths: list[Path], schema: pa.Schema, memory: int, buckets: int | None) -> Generator[pa.Table]:
    for chunk in chunks((batch for path in paths for batch in batches(path, schema)), memory=memory):
        yield chunk if buckets is None else with_bucket(chunk, buckets=buckets)
        del chunk


def _parts(history: Path, name: str) -> list[Path]:
    return sorted((history / name).glob("*.parquet"))


def _check_format(history: Path) -> None:
    path = history / "format.json"
    if path.exists() and (found := json.loads(path.read_text()).get("format")) != FORMAT:
        raise ValueError(f"{path}: history format {found!r}; this kafkacheck reads format {FORMAT}")


def _write_format(history: Path, cut: list[str], rows: Mapping[str, Mapping[str, int]]) -> None:
    """
    cut   the segments, such as ``records-3``, that end within a batch; what their process did last is missing.
    rows  by table and file: what is missing later on, of an incomplete copy say, is noticed.
    """
    unfinished = history / ".format.unfinished"
    told = {"format": FORMAT, "rows": rows} | ({"cut": cut} if cut else {})
    unfinished.write_text(json.dumps(told) + "\n")
    os.replace(unfinished, history / "format.json")
