"""Validates the files of a history on this machine, before anything is concluded from them.

Schemas, null counts and minima come from the footers of the files, so most checks read no data. For the others, a few
columns are streamed once, outside Spark: some tens of milliseconds per million rows, in bounded memory. The message
names the number of the first invalid row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzers.history import run_progress
from analyzers.history.fault_events import parse
from analyzers.history.sources import local_files
from workloads.history.lines.fields import DOUBTS
from workloads.history.schema import FORMAT, HARNESS, NEMESIS, TABLES, required_columns


class BadHistory(ValueError):
    """A file cannot be judged. The message names the file, the row (counted from 0) and the reason."""

    def __init__(self, file: Path | str, reason: str, *, row: int | None = None) -> None:
        where = f"{file}" if row is None else f"{file}, row {row}"
        super().__init__(f"{where}: {reason}")
        self.file, self.row, self.reason = file, row, reason


REQUIRED: Mapping[str, tuple[str, ...]] = {
    "records": ("run", "op", "index", "process", "f", "type", "invoked", "topic", "partition"),
    "operations": ("run", "op", "process", "f", "type", "invoked"),
    "observations": ("run", "process", "time", "kind"),
}
"""Columns that must not have nulls."""

NOT_NEGATIVE: Mapping[str, tuple[str, ...]] = {
    "records": ("index", "process", "partition", "offset"),
    "operations": (),
    "observations": (),
}


def run_ids(home: Path) -> frozenset[str]:
    """The ids of the runs in a run directory. Raises BadHistory for the first problem in its files."""
    manifest = _format(home)
    try:
        found = {table: local_files(home, table) for table in TABLES}
    except OSError as error:
        raise BadHistory(error.filename or home, f"cannot be read ({error.strerror})") from error
    if not any(found.values()):
        raise BadHistory(
            home / "history",
            f"holds no table of a history: expected {', '.join(f'{table}/*.parquet' for table in TABLES)}",
        )
    runs: set[str] = set()
    rows: dict[str, dict[str, int]] = {table: {} for table in TABLES}
    for table, paths in found.items():
        for path in paths:
            ids, rows[table][path.name] = _check(path, table)
            runs |= ids
    check_complete(home / "history", manifest, rows)
    return frozenset(runs)


def check_complete(
    history: Path | str, manifest: Mapping[str, Any], rows: Mapping[str, Mapping[str, int]]
) -> None:
    """Raises BadHistory if a file is missing, or has another number of rows than compaction wrote.

    manifest  content of ``format.json``; it lists no files if the tables were not written by compaction.
    rows      by table and name of the files that exist.
    """
    written = manifest.get("rows", {})
    by_table = written.values() if isinstance(written, dict) else [None]
    if not all(
        isinstance(files, dict) and all(isinstance(number, int) for number in files.values())
        for files in by_table
    ):
        raise BadHistory(f"{history}/format.json", f"expected rows by table and file, got {written!r}")
    for table, files in written.items():
        for name, number in files.items():
            file = f"{history}/{table}/{name}"
            if name not in rows.get(table, {}):
                raise BadHistory(file, f"is missing; compaction wrote {number:,} rows into it")
            if (here := rows[table][name]) != number:
                raise BadHistory(file, f"holds {here:,} rows, but compaction wrote {number:,}")


def cut_segments(home: Path) -> tuple[str, ...]:
    """The segments that ended within a batch when they were compacted."""
    return tuple(_format(home).get("cut", ()))


def doubts(home: Path) -> tuple[str, ...]:
    """What an imported history does not contain although a verdict needs it, one sentence each."""
    return tuple(_format(home).get(DOUBTS, ()))


def parse_format(file: Path | str, text: str) -> dict[str, Any]:
    """The content of ``format.json``. Raises BadHistory if it is malformed or of another format."""
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise BadHistory(file, f"cannot be read as JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise BadHistory(file, f"expected an object, got {manifest!r}")
    if (found := manifest.get("format")) != FORMAT:
        raise BadHistory(file, f"history format {found!r}; this kafkacheck reads format {FORMAT}")
    return manifest


def _format(home: Path) -> dict[str, Any]:
    """The content of ``format.json``; empty if there is no such file."""
    path = home / "history" / "format.json"
    try:
        return parse_format(path, path.read_text(errors="replace"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise BadHistory(path, f"cannot be read ({error.strerror})") from error


def _check(path: Path, table: str) -> tuple[set[str], int]:
    """The ids of the runs in a file, and its number of rows."""
    size = 0
    try:
        size = path.stat().st_size
        if not size:
            raise BadHistory(path, "is empty, not even a Parquet file without rows")
        about = pq.read_metadata(path)
        _check_schema(path, table, about.schema.to_arrow_schema())
        words = ["run", *WORDS[table]]
        with pq.ParquetFile(
            path, read_dictionary=words, metadata=about, pre_buffer=False, page_checksum_verification=True
        ) as file:
            _check_statistics(path, table, file)
            return check_rows(path, table, file), about.num_rows
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise BadHistory(path, f"cannot be read ({error.strerror or error})") from error
    except (pa.ArrowException, OSError) as error:
        first = str(error).partition("\n")[0]
        raise BadHistory(path, f"is truncated, or not a Parquet file ({size:,} bytes; {first})") from error


def _check_schema(path: Path, table: str, found: pa.Schema) -> None:
    wanted = TABLES[table]
    if found == wanted:
        return
    missing = [name for name in required_columns(table) if name not in found.names]
    if not set(wanted.names) & set(found.names):
        raise BadHistory(
            path, f"is not a table of a history: its columns are {', '.join(found.names) or 'none'}"
        )
    if missing:
        raise BadHistory(
            path,
            f"lacks the columns {', '.join(missing)} of {table}: another version wrote it, "
            f"this one reads format {FORMAT}",
        )
    for field in wanted:
        if field.name not in found.names:
            continue
        kind = found.field(field.name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not _is_compatible(plain, field.type):
            raise BadHistory(path, f"column {field.name} is {plain}, expected {field.type}")


def _is_compatible(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return pa.types.is_list(kind) and bool(kind.value_type == wanted.value_type)
    return bool(kind == wanted) or (pa.types.is_string(wanted) and pa.types.is_large_string(kind))


def _check_statistics(path: Path, table: str, file: pq.ParquetFile) -> None:
    """Check nulls and minima in the footer. A column is read only if the footer does not answer."""
    positions = {file.schema.column(i).path: i for i in range(len(file.schema))}
    first = 0
    for group in range(file.num_row_groups):
        about = file.metadata.row_group(group)
        for name in {*REQUIRED[table], *NOT_NEGATIVE[table]}:
            statistics = about.column(positions[name]).statistics
            is_doubtful = statistics is None or (
                (name in REQUIRED[table] and (not statistics.has_null_count or statistics.null_count > 0))
                or (name in NOT_NEGATIVE[table] and statistics.has_min_max and statistics.min < 0)
            )
            if is_doubtful:
                column = file.read_row_group(group, columns=[name])[name]
                if name in REQUIRED[table]:
                    refuse_first(path, pc.is_null(column), first, f"{name} is null")
                if name in NOT_NEGATIVE[table]:
                    refuse_first(path, pc.less(column, 0), first, f"{name} is negative", column)
        first += about.num_rows


COMPLETIONS = ("ok", "fail", "info")
WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "records": {"f": ("send", "poll"), "type": COMPLETIONS},
    "operations": {"type": COMPLETIONS},
    "observations": {},
}

TIMES: Mapping[str, tuple[str, ...]] = {
    "records": ("process", "index", "invoked", "completed"),
    "operations": ("invoked", "completed"),
    "observations": (),
}

BATCH = 1 << 20
"""Rows."""


def check_rows(path: Path, table: str, file: pq.ParquetFile) -> set[str]:
    """The ids of the runs in a file. It must be opened with `run` and the columns in `WORDS` as dictionaries.

    Raises BadHistory for an invalid row.
    """
    runs = single_run([file.metadata])
    columns = [*WORDS[table], *TIMES[table], *([] if runs else ["run"])]
    found = set() if runs is None else set(runs)
    first, last = 0, None
    for batch in _batches(file, columns) if columns else ():
        for name, words in WORDS[table].items():
            _check_words(path, batch[name], words, first, name)
        if runs is None:
            found |= set(pc.unique(batch["run"].dictionary_decode()).to_pylist())
        if TIMES[table]:
            _check_spans(path, batch, first)
        if table == "records":
            rows = pa.table([batch[name] for name in (*TIMES[table], *([] if runs else ["run"]))],
                            names=[*TIMES[table], *([] if runs else ["run"])])  # fmt: skip
            _check_order(path, rows if last is None else pa.concat_tables([last, rows]), first, last)
            last = rows.slice(len(rows) - 1) if len(rows) else last
        first += len(batch)
    if table == "operations":
        _check_values(path, file)
    return found


def _batches(file: pq.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    # For a small file, starting threads takes longer than reading it.
    yield from file.iter_batches(BATCH, columns=columns, use_threads=file.metadata.num_rows > BATCH)


def single_run(metadata: Iterable[pq.FileMetaData]) -> frozenset[str] | None:
    """The run of files that hold a single one, from their footers; none without rows. None: there may be several."""
    runs: set[str] = set()
    for file in metadata:
        position = file.schema.names.index("run")
        for group in range(file.num_row_groups):
            statistics = file.row_group(group).column(position).statistics
            if statistics is None or not statistics.has_min_max or statistics.null_count:
                return None
            runs |= {statistics.min, statistics.max}
    return frozenset(runs) if len(runs) <= 1 else None


def _check_words(path: Path, column: pa.DictionaryArray, words: Sequence[str], first: int, name: str) -> None:
    if set(column.dictionary.to_pylist()) <= set(words):
        return
    plain = column.dictionary_decode()
    wrong = pc.invert(pc.is_in(plain, value_set=pa.array(words)))
    refuse_first(path, wrong, first, f"{name}: expected {' or '.join(words)}", plain)


def _check_spans(path: Path, batch: pa.RecordBatch, first: int) -> None:
    back = pc.fill_null(pc.less(batch["completed"], batch["invoked"]), False)
    row = _first(back)
    if row is not None:
        times = {name: batch[name][row].as_py() for name in ("invoked", "completed")}
        raise BadHistory(
            path,
            f"completed at {times['completed']} ns, before it was invoked at {times['invoked']} ns",
            row=first + row,
        )


def _check_order(path: Path, rows: pa.Table, first: int, last: pa.Table | None) -> None:
    """A process must not go back in time: rows with a higher `index` are invoked no earlier."""
    if len(rows) < 2:
        return
    rows = rows.combine_chunks()
    now, before = rows.slice(1), rows.slice(0, len(rows) - 1)
    same = pc.equal(now["process"], before["process"])
    if "run" in rows.column_names:
        plain = pc.cast(rows["run"], pa.string())
        same = pc.and_(same, pc.equal(plain.slice(1), plain.slice(0, len(rows) - 1)))
    later = pc.and_(same, pc.greater(now["index"], before["index"]))
    # A send without completion is placed by its invocation row, which may be a little earlier than its time.
    whole = pc.and_(pc.is_valid(now["completed"]), pc.is_valid(before["completed"]))
    later = pc.and_(later, whole)
    row = _first(pc.and_(later, pc.less(now["invoked"], before["invoked"])))
    if row is not None:
        process, at, was = (
            now["process"][row].as_py(), now["invoked"][row].as_py(), before["invoked"][row].as_py()
        )  # fmt: skip
        raise BadHistory(
            path,
            f"process {process} goes back in time: invoked at {at} ns, after the row before it at {was} ns",
            row=first + row + (0 if last is not None else 1),
        )


def _check_values(path: Path, file: pq.ParquetFile) -> None:
    """Check that the values of nemesis and harness can be parsed. They are few; their process numbers are
    negative."""
    position = file.schema_arrow.names.index("process")
    groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
    statistics = [group.column(position).statistics for group in groups]
    if all(each is not None and each.has_min_max and each.min >= 0 for each in statistics):
        return
    first = 0
    for batch in _batches(file, ["process", "op", "f", "invoked", "completed", "value"]):
        for row in _rows(pc.is_in(batch["process"], value_set=pa.array([NEMESIS, HARNESS], pa.int32()))):
            operation = SimpleNamespace(**{name: batch[name][row].as_py() for name in batch.schema.names})
            try:
                if operation.process == NEMESIS:
                    parse(operation)
                else:
                    run_progress.parse(operation.value)
            except ValueError as error:
                raise BadHistory(path, str(error), row=first + row) from error
        first += len(batch)


def _rows(which: pa.BooleanArray) -> Iterator[int]:
    if pc.any(which).as_py():
        yield from pc.indices_nonzero(which).to_pylist()


def refuse_first(
    path: Path, wrong: pa.Array, first: int, reason: str, values: pa.Array | None = None
) -> None:
    """Raise BadHistory for the first row that is marked as wrong; `first` is the number of row 0."""
    row = _first(wrong)
    if row is not None:
        got = "" if values is None else f", got {values[row].as_py()!r}"
        raise BadHistory(path, f"{reason}{got}", row=first + row)


def _first(wrong: pa.Array | pa.ChunkedArray) -> int | None:
    position = pc.index(wrong, True).as_py()
    return None if position < 0 else position
