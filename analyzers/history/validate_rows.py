"""Validates the rows of a table: whether a run can have recorded them.

A few columns are streamed once, outside Spark: some tens of milliseconds per million rows, in bounded memory. The
message names the number of the first invalid row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analyzers.history import run_progress
from analyzers.history.bad_history import BadHistory
from analyzers.history.fault_events import parse
from workloads.history.schema import HARNESS, NEMESIS

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
        _check_values(path, file)
    return found


def _batches(file: pq.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    # For a small file, starting threads takes longer than reading it.
    yield from file.iter_batches(BATCH, columns=columns, use_threads=file.metadata.num_rows > BATCH)


def _single_run(file: pq.ParquetFile) -> frozenset[str] | None:
    """The run of a file that holds a single one, from its footer; None if it may hold several."""
    position = file.schema_arrow.names.index("run")
    runs: set[str] = set()
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(position).statistics
        if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
            return None
        runs.add(statistics.min)
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
