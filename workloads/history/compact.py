"""From the segments of a run to the Parquet files that are analysed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workloads.history.order import with_previous
from workloads.history.reader import is_cut, read
from workloads.history.schema import FORMAT, TABLES

SORT = {
    "records": ["topic", "partition", "process", "f", "assignment", "index"],
    "operations": ["invoked", "process", "op"],
    "observations": ["time", "process"],
}


def compact(run: Path) -> dict[str, int]:
    """Turn ``<run>/history/segments`` into ``<run>/history/<table>/part-0.parquet``; rows by table.

    Repeatable: a compaction that was interrupted starts over, one that was finished is left as it is.
    Segments go only when everything else is in place. A run that recorded nothing gets empty tables.
    Raises FileNotFoundError without a run directory, ValueError for a history of another format.
    """
    if not run.is_dir():
        raise FileNotFoundError(f"run directory {run} does not exist: nothing to compact")
    history = run / "history"
    segments, discarded = history / "segments", history / "segments.discarded"
    _check_format(history)
    shutil.rmtree(discarded, ignore_errors=True)
    cut = [path.stem for path in sorted(segments.glob("*.arrows")) if is_cut(path)]
    for name in TABLES:
        # Without segments, tables are either finished or were never begun.
        if segments.is_dir() or not _parts(history, name):
            _write(history, name, _gather(segments, name))
    if segments.is_dir() or not (history / "format.json").exists():
        _write_format(history, cut)
    if segments.is_dir():
        # One step decides: a half removed folder must not look like a history to be compacted.
        segments.rename(discarded)
        shutil.rmtree(discarded)
    return {name: sum(pq.read_metadata(part).num_rows for part in _parts(history, name)) for name in TABLES}


def join(rows: pa.Table) -> pa.Table:
    """Records with one row per send: its completion, or else its invocation as ``info``."""
    invoked = pc.equal(rows["type"], "invoke")
    done = rows.filter(pc.invert(invoked))
    completions = done.filter(pc.equal(done["f"], "send"))["op"]
    begun = rows.filter(invoked)
    open_ends = begun.filter(pc.invert(pc.is_in(begun["op"], value_set=completions)))
    types = pa.repeat(pa.scalar("info", pa.string()), len(open_ends))
    position = rows.schema.get_field_index("type")
    return pa.concat_tables([done, open_ends.set_column(position, rows.schema.field("type"), types)])


def _gather(segments: Path, name: str) -> pa.Table:
    """All rows of a table, as they are to be analysed."""
    schema = TABLES[name]
    paths = sorted(segments.glob(f"{name}-*.arrows"))
    table = pa.concat_tables([schema.empty_table(), *(read(path, schema) for path in paths)])
    if name == "records":
        table = join(table)
    table = table.sort_by([(column, "ascending") for column in SORT[name]])
    return with_previous(table) if name == "records" else table


def _write(history: Path, name: str, table: pa.Table) -> None:
    schema = TABLES[name]
    path = history / name / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(".part-0.unfinished")
    numbers = [field.name for field in schema if field.type == pa.int64()]
    pq.write_table(
        table,
        unfinished,
        compression="zstd",
        use_dictionary=[_leaf(field) for field in schema if field.name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        row_group_size=1_000_000,
    )
    os.replace(unfinished, path)


def _leaf(field: pa.Field) -> str:
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def _parts(history: Path, name: str) -> list[Path]:
    return sorted((history / name).glob("*.parquet"))


def _check_format(history: Path) -> None:
    path = history / "format.json"
    if path.exists() and (found := json.loads(path.read_text()).get("format")) != FORMAT:
        raise ValueError(f"{path}: history format {found!r}; this kafkacheck reads format {FORMAT}")


def _write_format(history: Path, cut: list[str]) -> None:
    """cut: the segments, such as ``records-3``, that end within a batch; what their process did last is missing."""
    unfinished = history / ".format.unfinished"
    told = {"format": FORMAT} | ({"cut": cut} if cut else {})
    unfinished.write_text(json.dumps(told) + "\n")
    os.replace(unfinished, history / "format.json")
