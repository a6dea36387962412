"""The copy of a small history: the same rows, and never those of other files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.small import write
from workloads.history.row_copy import NAME, read_copy, write_copy
from workloads.history.schema import TABLES


def files(run: Path) -> dict[str, list[str]]:
    return {table: sorted(map(str, (run / "history" / table).glob("*.parquet"))) for table in TABLES}


def test_rows_are_those_of_the_files(tmp_path: Path) -> None:
    copied = read_copy(files(write(tmp_path, "run", 50)))
    assert {Path(file).parent.name for file in copied} == set(TABLES)
    for file, rows in copied.items():
        expected = pq.ParquetFile(file).read()
        assert rows == expected.select(rows.column_names)
        left_out = set(expected.column_names) - set(rows.column_names)
        assert left_out == {
            name for name in expected.column_names if expected[name].null_count == len(expected)
        }
    assert [len(rows.column_names) > 0 for rows in copied.values()] == [True, True, False]


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
