"""Compaction: turns the segments of a run into the Parquet files that are analysed, in bounded memory.

The format of segments suits a writer that may be killed; the tables suit the analysis. Compaction

- joins the invocation and the completion of each send into one row,
- sorts records by log, process and order of recording. One pass can then fill in ``previous``, and order checks in
  Spark need no shuffle, which would be most of their time,
- divides large histories into Spark's own hash buckets, so that grouping by log needs no shuffle either,
- writes checksums and the number of rows of each file, so that damage and missing files are noticed,
- writes a copy of the rows of a small history, which is read faster (`row_copy`).

Rows are sorted on disk (`sorting`), because a history may be larger than memory. Two threads prefetch: reading
overlaps sorting, and merging overlaps encoding.

Compaction may be killed at any moment. Each table is built in a hidden folder and then renamed, ``format.json`` is
replaced in one step, and the segments are removed last, after their folder was renamed. So as long as the segments
exist, the next compaction makes everything again from them; once they are gone, all tables are complete.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import shutil
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workloads.history.compaction.sorted_records import joined, not_completed, with_previous
from workloads.history.compaction.sorting import chunks, externally_sorted, numbered
from workloads.history.parquet import BUCKETS, KEY, WHOLE, bucket, file_name, row_groups, write
from workloads.history.row_copy import write_copy
from workloads.history.schema import FORMAT, TABLES
from workloads.history.segments import batches, is_cut, segments

log = logging.getLogger(__name__)

T = TypeVar("T")

SORT = {
    "records": ("topic", "partition", "process", "f", "assignment", "index"),
    "operations": ("invoked", "process", "op"),
    "observations": ("time", "process"),
}

MEMORY = 64 << 20
"""Bytes of rows that are sorted at a time. Compaction needs some seven times as much memory."""

CANNOT_LOCK = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP}
"""Errors of file systems that cannot lock a folder, such as NFS."""

BUCKET = "bucket"
"""A column that records have while they are sorted; it is not in the files."""

LARGE = 192 << 20
"""Bytes of records in segments (about a million records) from which they are divided into buckets. For fewer, Spark
spends more time opening files than reading them."""


def compact(run: Path, *, memory: int = MEMORY, large: int = LARGE) -> dict[str, int]:
    """Turn ``<run>/history/segments`` into Parquet files ``<run>/history/<table>/*.parquet``. Returns rows by table.

    memory  bytes of rows held in memory at a time; the rest is sorted on disk, beside the segments.
    large   bytes of records from which the records are divided into buckets (see `workloads.history.parquet`).
    May be repeated: an interrupted compaction starts over, a finished one is left unchanged. A run that recorded
    nothing gets empty tables. Of two processes that compact a run, the second one waits for the first. Raises
    FileNotFoundError without a run directory, ValueError for a history of another format.
    """
    if not run.is_dir():
        raise FileNotFoundError(f"run directory {run} does not exist: nothing to compact")
    history = run / "history"
    history.mkdir(exist_ok=True)
    with _locked(history):
        return _compact_all(history, memory, large)


@contextmanager
def _locked(history: Path) -> Iterator[None]:
    """Lock the history. Two compactions at once would use each other's unfinished tables and remove the segments.

    The folder itself is locked: the lock leaves no file behind and ends with the process. Some network file systems
    cannot lock a folder; there, compactions do not wait for each other.
    """
    folder = os.open(history, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in CANNOT_LOCK:
                raise
            log.warning(
                "%s cannot be locked (%s): make sure that no other process compacts it now",
                history,
                error.strerror,
            )
        yield
    finally:
        os.close(folder)


def _compact_all(history: Path, memory: int, large: int) -> dict[str, int]:
    source, discarded = history / "segments", history / "segments.discarded"
    written = _rows_written(history)
    shutil.rmtree(discarded, ignore_errors=True)
    if written is not None and not source.is_dir():
        # Validation compares the files with it. A table that went missing must not be made anew, without rows.
        return written
    cut = [path.stem for path in sorted(source.glob("*.arrows")) if is_cut(path)]
    for name in TABLES:
        # Without segments, a table is either finished or was never begun.
        if source.is_dir() or not _parts(history, name):
            _compact(history, name, memory, large)
    rows = {
        name: {part.name: pq.read_metadata(part).num_rows for part in _parts(history, name)}
        for name in TABLES
    }
    if source.is_dir() or not (history / "format.json").exists():
        write_copy(history)
        _write_format(history, cut, rows)
    if source.is_dir():
        # Renamed first, in one step: a half removed folder must not look like segments to be compacted.
        source.rename(discarded)
        shutil.rmtree(discarded)
    return {name: sum(parts.values()) for name, parts in rows.items()}


def _compact(history: Path, name: str, memory: int, large: int) -> None:
    finished, unfinished = history / name, history / f".{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    with _sorted(history, name, memory, large, unfinished / "spill") as rows:
        if name == "records":
            rows = with_previous(joined(table) for table in rows)
        # The next row group is merged while one is encoded; only these two are in memory.
        with closing(prefetched(_groups(rows))) as groups:
            # A table without rows has no buckets, but still gets a file (below).
            for number, tables in groupby(groups, key=itemgetter(0)):
                file = WHOLE if number is None else file_name(number, BUCKETS)
                write(unfinished / file, (table for _, table in tables), TABLES[name])
    if not any(unfinished.iterdir()):
        write(unfinished / WHOLE, [], TABLES[name])
    shutil.rmtree(finished, ignore_errors=True)
    unfinished.rename(finished)


def _groups(rows: Iterable[pa.Table]) -> Generator[tuple[int | None, pa.Table]]:
    """Cut the rows into row groups, each with its bucket."""
    for number, tables in groupby(by_bucket(rows), key=itemgetter(0)):
        for group in row_groups(table for _, table in tables):
            yield number, group


@contextmanager
def _sorted(history: Path, name: str, memory: int, large: int, spill: Path) -> Iterator[Iterator[pa.Table]]:
    paths = segments(history, name)
    size = sum(path.stat().st_size for path in paths)
    is_divided = name == "records" and size >= large
    keys = (BUCKET, *SORT[name]) if is_divided else SORT[name]
    keep = not_completed if name == "records" else None
    with (
        # The next chunk is read while one is sorted.
        closing(prefetched(_chunks(paths, TABLES[name], memory, BUCKETS if is_divided else None))) as rows,
        externally_sorted(rows, keys, spill=spill, memory=memory, expected=size, keep=keep) as tables,
    ):
        yield tables


def _chunks(paths: list[Path], schema: pa.Schema, memory: int, buckets: int | None) -> Generator[pa.Table]:
    for chunk in chunks((batch for path in paths for batch in batches(path, schema)), memory=memory):
        yield chunk if buckets is None else with_bucket(chunk, buckets=buckets)
        del chunk


def _parts(history: Path, name: str) -> list[Path]:
    return sorted((history / name).glob("*.parquet"))


def _rows_written(history: Path) -> dict[str, int] | None:
    """By table, as ``format.json`` has them. None if it does not tell, or before the history was compacted."""
    path = history / "format.json"
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    found = content.get("format") if isinstance(content, dict) else content
    if found != FORMAT:
        raise ValueError(f"{path}: history format {found!r}; this kafkacheck reads format {FORMAT}")
    try:
        return {name: sum(files.values()) for name, files in content["rows"].items()}
    # The list of files has another form. Validation reports what is wrong with it.
    except (KeyError, AttributeError, TypeError):
        return None


def _write_format(history: Path, cut: list[str], rows: Mapping[str, Mapping[str, int]]) -> None:
    """Write ``format.json``.

    cut   the segments, such as ``records-3``, that end within a batch: the last rows of their process are missing.
    rows  by table and file, so that a file that goes missing later, for example in an incomplete copy, is noticed.
    """
    unfinished = history / ".format.unfinished"
    content = {"format": FORMAT, "rows": rows} | ({"cut": cut} if cut else {})
    unfinished.write_text(json.dumps(content) + "\n")
    os.replace(unfinished, history / "format.json")


def with_bucket(records: pa.Table, *, buckets: int) -> pa.Table:
    """Append `BUCKET`. There are few logs, so the bucket is computed once for each log, not for each row."""
    codes = pa.repeat(pa.scalar(0, pa.int64()), len(records))
    for name in KEY:
        column, bits = numbered(records[name])
        # Most columns have a single value and need no bits.
        codes = pc.bit_wise_or(pc.shift_left(codes, bits), column) if bits else codes
    logs = codes.dictionary_encode()
    examples = records.select(KEY).take(_firsts(logs.indices)).to_pylist()
    numbers = pa.array([bucket(*log.values(), buckets=buckets) for log in examples], pa.int32())
    return records.append_column(BUCKET, numbers.take(logs.indices))


def _firsts(codes: pa.Array) -> pa.Array:
    """The first position of each code; codes are numbered from 0 in the order in which they first appear."""
    highest = pc.cumulative_max(codes)
    begins = pc.indices_nonzero(pc.not_equal(highest[1:], highest[:-1]))
    return pa.concat_arrays([pa.array([0], pa.int64())[: len(codes)], pc.add(begins, 1)])


def by_bucket(tables: Iterable[pa.Table]) -> Iterator[tuple[int | None, pa.Table]]:
    """Cut tables sorted by `BUCKET` where it changes, and drop the column. The bucket is None for undivided
    tables."""
    for table in tables:
        if BUCKET not in table.column_names:
            yield None, table
            continue
        begin = 0
        for each in pc.value_counts(table[BUCKET]).to_pylist():
            yield each["values"], table.slice(begin, each["counts"]).drop_columns(BUCKET)
            begin += each["counts"]


def prefetched(items: Generator[T]) -> Generator[T]:
    """The same items; while the caller works on one item, a thread makes the next, and no more than that.

    An exception raised while making an item is raised here, at that item. At the end, whether by the last item, an
    exception or `close`, the thread has ended and `items` is closed; `close` waits for the item that is being made.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prefetch") as pool:
        try:
            future = pool.submit(_next, items)
            while item := future.result():
                future = pool.submit(_next, items)
                # Taken out of the list, so that only the caller keeps the item in memory.
                yield item.pop()
        finally:
            # In the same thread, so after the item that is being made there.
            pool.submit(items.close).result()


def _next(items: Generator[T]) -> list[T]:
    """The next item in a list, or an empty list at the end."""
    for item in items:
        return [item]
    return []
