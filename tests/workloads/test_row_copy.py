"""The copy of a small history: the same rows, and never those of other files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.small import write
from workloads.history.row_copy import NAME, decode, read_copy, write_copy
from workloads.history.schema import TABLES

NUMBERS = {"records": 50, "operations": 2, "observations": 0}
"""Rows of a run of 50 operations."""


def files(run: Path) -> dict[str, list[str]]:
    return {table: sorted(map(str, (run / "history" / table).glob("*.parquet"))) for table in TABLES}


def test_rows_are_those_of_the_files(tmp_path: Path) -> None:
    copied = read_copy(files(write(tmp_path, "run", 50)))
    assert {Path(file).parent.name: each.rows for file, each in copied.items()} == NUMBERS
    for file, each in copied.items():
        expected = pq.ParquetFile(file).read()
        assert each.rows == len(expected)
        for rows in decode([each]):
            assert rows == expected.select(rows.column_names)
            left_out = set(expected.column_names) - set(rows.column_names)
            assert left_out == {
                name for name in expected.column_names if expected[name].null_count == len(expected)
            }
    assert [len(decode([each])) for each in copied.values()] == [1, 1, 0]


def test_rows_of_many_files_are_one_table_for_each_schema(tmp_path: Path) -> None:
    runs = [write(tmp_path, name, 50) for name in "abc"]
    records = [file for run in runs for file in files(run)["records"]]
    longer = pq.ParquetFile(records[1]).read()
    longer = longer.set_column(longer.column_names.index("source"), "source", pa.array(range(50), pa.int64()))
    pq.write_table(longer, records[1])
    write_copy(runs[1] / "history")
    copied = [read_copy(files(run))[file] for run, file in zip(runs, records, strict=True)]
    first, second = decode(copied)
    assert first["run"].to_pylist() == ["a"] * 50 + ["c"] * 50
    assert first["value"].to_pylist() == [
        value
        for file in (records[0], records[2])
        for value in pq.ParquetFile(file).read()["value"].to_pylist()
    ]
    assert second == longer.select(second.column_names)
    assert set(second.column_names) - set(first.column_names) == {"source"}


def test_that_of_another_revision_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write(tmp_path, "run", 50)
    monkeypatch.setattr("workloads.history.row_copy.REVISION", b"1")
    assert read_copy(files(run)) == {}


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def other(history: Path, table: str) -> None:
    """A file of another run. (A table without rows has the same bytes in each.)"""
    file = history / table / "part-0.parquet"
    file.write_bytes((write(history, "other", 50) / "history" / table / file.name).read_bytes())


CHANGES: dict[str, Callable[[Path], object]] = {
    "no copy": lambda history: (history / NAME).unlink(),
    "empty copy": lambda history: (history / NAME).write_bytes(b""),
    "cut copy": lambda history: (history / NAME).write_bytes((history / NAME).read_bytes()[:-1]),
    "damaged copy": lambda history: flip(history / NAME),
    **{f"damaged {table}": lambda history, table=table: flip(history / table / "part-0.parquet")
       for table in TABLES},
    **{f"other {table}": lambda history, table=table: other(history, table)
       for table in ("records", "operations")},
    "removed": lambda history: (history / "operations" / "part-0.parquet").unlink(),
    "added": lambda history: (history / "records" / "part-1.parquet").write_bytes(b""),
    "renamed": lambda history: (history / "records" / "part-0.parquet").rename(history / "records" / "a.parquet"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_of_other_files_it_is_not_used(tmp_path: Path, change: str) -> None:
    run = write(tmp_path, "run", 50)
    CHANGES[change](run / "history")
    assert read_copy(files(run)) == {}


def test_a_file_that_vanishes_while_it_is_read(tmp_path: Path) -> None:
    run = write(tmp_path, "run", 50)
    listed = files(run)
    Path(listed["records"][0]).unlink()
    assert read_copy(listed) == {}


def test_a_larger_history_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write(tmp_path, "run", 50)
    monkeypatch.setattr("workloads.history.row_copy.MOST", 51)
    write_copy(run / "history")
    assert not (run / "history" / NAME).exists()
    monkeypatch.setattr("workloads.history.row_copy.MOST", 52)  # 50 records and two final reads
    write_copy(run / "history")
    assert read_copy(files(run))


def test_a_table_in_several_files_has_none(tmp_path: Path) -> None:
    run = write(tmp_path, "run", 50)
    records = run / "history" / "records"
    (records / "part-0.parquet").rename(records / "of-32_00001.parquet")
    write_copy(run / "history")
    assert not (run / "history" / NAME).exists()


def test_columns_of_another_type_have_none(tmp_path: Path) -> None:
    run = write(tmp_path, "run", 50)
    (file,) = files(run)["records"]
    rows = pq.ParquetFile(file).read()
    at = rows.column_names.index("run")
    pq.write_table(rows.set_column(at, "run", rows["run"].cast(pa.large_string())), file)
    write_copy(run / "history")
    assert not (run / "history" / NAME).exists()
