"""Whether files are a history at all, before anything is concluded from them.

The footer of every file tells its schema, so most of it costs nothing. Rows are streamed once through few
columns, outside Spark: some 20 ms a million, in bounded memory, and the first wrong row has a number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzers import course
from analyzers.fault_events import parse
from analyzers.load import files
from workloads.history.schema import FORMAT, HARNESS, NEMESIS, TABLES

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "records": ("run", "op", "index", "process", "f", "type", "invoked", "topic", "partition"),
    "operations": ("run", "op", "process", "f", "type", "invoked"),
    "observations": ("run", "process", "time", "kind"),
}
"""Columns without nulls."""

NOT_NEGATIVE: Mapping[str, tuple[str, ...]] = {
    "records": ("index", "process", "partition", "offset"),
    "operations": (),
    "observations": (),
}

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


class BadHistory(ValueError):
    """A file that cannot be judged: which, in which row (counted from 0), and why."""

    def __init__(self, file: Path, reason: str, *, row: int | None = None) -> None:
        where = f"{file}" if row is None else f"{file}, row {row}"
        super().__init__(f"{where}: {reason}")
        self.file, self.row, self.reason = file, row, reason


def run_ids(home: Path) -> frozenset[str]:
    """The runs whose rows a run directory holds. Raises BadHistory for the first thing that is wrong in it."""
    _check_format(home / "history" / "format.json")
    found = {table: files(home, table) for table in TABLES}
    if not any(found.values()):
        raise BadHistory(
            home / "history",
            f"holds no table of a history: expected {', '.join(f'{table}/*.parquet' for table in TABLES)}",
        )
    runs: set[str] = set()
    for table, paths in found.items():
        for path in paths:
            runs |= _check(path, table)
    return frozenset(runs)


def cut_segments(home: Path) -> tuple[str, ...]:
    """The segments that compaction found to end within a batch."""
    path = home / "history" / "format.json"
    if not path.exists():
        return ()
    return tuple(_format(path).get("cut", ()))


def _format(path: Path) -> Mapping[str, Any]:
    try:
        told = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadHistory(path, f"cannot be read as JSON ({error})") from error
    if not isinstance(told, dict):
        raise BadHistory(path, f"expected an object, got {told!r}")
    return told


def _check_format(path: Path) -> None:
    if path.exists() and (found := _format(path).get("format")) != FORMAT:
        raise BadHistory(path, f"history format {found!r}; this kafkacheck reads format {FORMAT}")


def _check(path: Path, table: str) -> set[str]:
    """The runs of a file."""
    size = path.stat().st_size
    if not size:
        raise BadHistory(path, "is empty, not even a Parquet file without rows")
    try:
        about = pq.read_metadata(path)
        _check_schema(path, table, about.schema.to_arrow_schema())
        words = ["run", *WORDS[table]]
        with pq.ParquetFile(path, read_dictionary=words, metadata=about, pre_buffer=False) as file:
            _check_statistics(path, table, file)
            return _check_rows(path, table, file)
    except (pa.ArrowException, OSError) as error:
        first = str(error).partition("\n")[0]
        raise BadHistory(path, f"is truncated, or no Parquet file ({size:,} bytes; {first})") from error


def _check_schema(path: Path, table: str, found: pa.Schema) -> None:
    wanted = TABLES[table]
    missing = [name for name in wanted.names if name not in found.names]
    if len(missing) == len(wanted.names):
        raise BadHistory(
            path, f"is no table of a history: its columns are {', '.join(found.names) or 'none'}"
        )
    if missing:
        raise BadHistory(
            path,
            f"lacks the columns {', '.join(missing)} of {table}: another version wrote it, "
            f"this one reads format {FORMAT}",
        )
    for field in wanted:
        kind = found.field(field.name).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not _same(plain, field.type):
            raise BadHistory(path, f"column {field.name} is {plain}, expected {field.type}")


def _same(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_list(wanted):
        return pa.types.is_list(kind) and bool(kind.value_type == wanted.value_type)
    return bool(kind == wanted) or (pa.types.is_string(wanted) and pa.types.is_large_string(kind))


def _check_statistics(path: Path, table: str, file: pq.ParquetFile) -> None:
    """What the footer tells of nulls and of the smallest numbers; a column is read where it tells nothing."""
    positions = {file.schema.column(i).path: i for i in range(len(file.schema))}
    first = 0
    for group in range(file.num_row_groups):
        about = file.metadata.row_group(group)
        for name in {*REQUIRED[table], *NOT_NEGATIVE[table]}:
            told = about.column(positions[name]).statistics
            doubtful = told is None or (
                (name in REQUIRED[table] and (not told.has_null_count or told.null_count > 0))
                or (name in NOT_NEGATIVE[table] and told.has_min_max and told.min < 0)
            )
            if doubtful:
                column = file.read_row_group(group, columns=[name])[name]
                if name in REQUIRED[table]:
                    _refuse_first(path, pc.is_null(column), first, f"{name} is null")
                if name in NOT_NEGATIVE[table]:
                    _refuse_first(path, pc.less(column, 0), first, f"{name} is negative", column)
        first += about.num_rows


def _check_rows(path: Path, table: str, file: pq.ParquetFile) -> set[str]:
    runs = _single_run(file)
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
        _check_told(path, file)
    return found


def _batches(file: pq.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    # Of a small file, threads would cost more than reading it.
    yield from file.iter_batches(BATCH, columns=columns, use_threads=file.metadata.num_rows > BATCH)


def _single_run(file: pq.ParquetFile) -> frozenset[str] | None:
    """The run of a file that holds one, from its footer; None where it may hold several."""
    position = file.schema_arrow.names.index("run")
    runs: set[str] = set()
    for group in range(file.num_row_groups):
        told = file.metadata.row_group(group).column(position).statistics
        if told is None or not told.has_min_max or told.min != told.max:
            return None
        runs.add(told.min)
    return frozenset(runs) if len(runs) <= 1 else None


def _check_words(path: Path, column: pa.DictionaryArray, words: Sequence[str], first: int, name: str) -> None:
    if set(column.dictionary.to_pylist()) <= set(words):
        return
    plain = column.dictionary_decode()
    wrong = pc.invert(pc.is_in(plain, value_set=pa.array(words)))
    _refuse_first(path, wrong, first, f"{name}: expected {' or '.join(words)}", plain)


def _check_spans(path: Path, batch: pa.RecordBatch, first: int) -> None:
    back = pc.fill_null(pc.less(batch["completed"], batch["invoked"]), False)
    row = _first(back)
    if row is not None:
        told = {name: batch[name][row].as_py() for name in ("invoked", "completed")}
        raise BadHistory(
            path,
            f"completed {told['completed']} ns before it was invoked ({told['invoked']} ns)",
            row=first + row,
        )


def _check_order(path: Path, rows: pa.Table, first: int, last: pa.Table | None) -> None:
    """What a process recorded later began no earlier. Rows of one process lie together, by `index`."""
    if len(rows) < 2:
        return
    rows = rows.combine_chunks()
    now, before = rows.slice(1), rows.slice(0, len(rows) - 1)
    same = pc.equal(now["process"], before["process"])
    if "run" in rows.column_names:
        plain = pc.cast(rows["run"], pa.string())
        same = pc.and_(same, pc.equal(plain.slice(1), plain.slice(0, len(rows) - 1)))
    later = pc.and_(same, pc.greater(now["index"], before["index"]))
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


def _check_told(path: Path, file: pq.ParquetFile) -> None:
    """The values of what nemesis and harness tell can be read. They are few, and their process is negative."""
    position = file.schema_arrow.names.index("process")
    groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
    told = [group.column(position).statistics for group in groups]
    if all(each is not None and each.has_min_max and each.min >= 0 for each in told):
        return
    first = 0
    for batch in _batches(file, ["process", "op", "f", "invoked", "completed", "value"]):
        for row in _rows(pc.is_in(batch["process"], value_set=pa.array([NEMESIS, HARNESS], pa.int32()))):
            operation = SimpleNamespace(**{name: batch[name][row].as_py() for name in batch.schema.names})
            try:
                if operation.process == NEMESIS:
                    parse(operation)
                else:
                    course.parse(operation.value)
            except ValueError as error:
                raise BadHistory(path, str(error), row=first + row) from error
        first += len(batch)


def _rows(which: pa.BooleanArray) -> Iterator[int]:
    if pc.any(which).as_py():
        yield from pc.indices_nonzero(which).to_pylist()


def _refuse_first(
    path: Path, wrong: pa.Array, first: int, reason: str, values: pa.Array | None = None
) -> None:
    row = _first(wrong)
    if row is not None:
        got = "" if values is None else f", got {values[row].as_py()!r}"
        raise BadHistory(path, f"{reason}{got}", row=first + row)


def _first(wrong: pa.Array | pa.ChunkedArray) -> int | None:
    position = pc.index(wrong, True).as_py()
    return None if position < 0 else position
