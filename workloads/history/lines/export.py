"""Exports the history of a run as JSON lines, so that other programs can read it, and this one judge it again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as pq

from workloads.history.compaction.compact import compact
from workloads.history.lines.fields import IMPORTED, VERSION, Field
from workloads.history.lines.kinds import KINDS, RECORD
from workloads.history.lines.parse import HEADER, SUFFIXES
from workloads.history.schema import NEMESIS

Row = Mapping[str, Any]

OF_RECORD = frozenset(each.column or each.name for each in RECORD)


def export_lines(
    run: Path, path: Path, *, requires: Sequence[str] | None = None, allow: Sequence[str] = ()
) -> int:
    """Write the history of a run directory into a file. Returns its number of lines.

    requires, allow  of the header, see `workloads.history.lines.parse.Header`.
    Raises ValueError for a file of another name, and FileExistsError for one that exists.
    """
    if not path.name.endswith(SUFFIXES):
        raise ValueError(f"{path}: expected a name that ends with {' or '.join(SUFFIXES)}")
    compact(run)
    count = 0
    try:
        with _created(path) as file:
            for row in _rows(run / "history", requires, allow):
                file.write(json.dumps(row, allow_nan=False) + "\n")
                count += 1
    except FileExistsError:
        raise
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return count


def _created(path: Path) -> IO[str]:
    if path.name.endswith(".gz"):
        return gzip.open(path, "xt", encoding="utf-8")
    return path.open("x", encoding="utf-8")


def _rows(history: Path, requires: Sequence[str] | None, allow: Sequence[str]) -> Iterator[dict[str, Any]]:
    runs = {row["run"] for table in ("records", "operations") for row in _table(history, table, ["run"])}
    if len(runs) > 1:
        raise ValueError(f"{history}: holds several runs ({', '.join(sorted(runs))}), expected one")
    lists = {"requires": requires, "allow": allow or None}
    yield (
        {HEADER: VERSION, "unit": "ns"}
        | ({"run": runs.pop()} if runs else {})
        | {name: [*value] for name, value in lists.items() if value is not None}
    )
    for row in _table(history, "operations"):
        yield _operation(row)
    for row in _table(history, "observations"):
        yield {"f": "sample"} | _fields(KINDS["sample"].fields, _with_value(row))
    polls = (
        "f",
        "op",
        "process",
        "topic",
        "partition",
        "assignment",
        "generation",
        "invoked",
        "completed",
        "type",
    )
    for key, group in groupby(_table(history, "records"), key=lambda row: tuple(row[name] for name in polls)):
        if key[0] == "send":
            yield from (_send(row) for row in group)
        else:
            yield _poll([*group])


def _send(row: Row) -> dict[str, Any]:
    return {"f": "send"} | _fields([each for each in KINDS["send"].fields if each.name != "op"], row)


def _poll(rows: Sequence[Row]) -> dict[str, Any]:
    first = rows[0]
    common = [each for each in KINDS["poll"].fields if each.name not in ("records", "error")]
    records = [
        _fields([each for each in RECORD if each.name not in ("topic", "partition")], row) for row in rows
    ]
    return {"f": "poll"} | _fields(common, first) | {"records": records}


def _operation(row: Row) -> dict[str, Any]:
    name = "fault" if row["process"] == NEMESIS else row["f"]
    kind = KINDS.get(name)
    if kind is None:
        raise ValueError(f"operation {row['op']}: no kind of line for {name}; there are {', '.join(KINDS)}")
    value = json.loads(row["value"]) if row["value"] else {}
    columns = [each for each in kind.fields if not each.in_value]
    keys = {each.name for each in kind.fields if each.in_value}
    more = {key: each for key, each in value.items() if key not in (*keys, IMPORTED) and each is not None}
    fields = _fields(columns, row) | {
        key: each for key, each in value.items() if key in keys and each is not None
    }
    return {"f": kind.f} | fields | ({"more": more} if more else {})


def _fields(fields: Sequence[Field], row: Row) -> dict[str, Any]:
    return {each.name: value for each in fields if (value := row.get(each.column or each.name)) is not None}


def _with_value(row: Row) -> dict[str, Any]:
    return {**row, "value": json.loads(row["value"]) if row.get("value") else None}


def _table(history: Path, table: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    for part in sorted((history / table).glob("*.parquet")):
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(columns=columns):
                yield from batch.to_pylist()
