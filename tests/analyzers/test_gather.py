"""Which files are read to gather the rows of small histories."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pyarrow.parquet as pq
import pytest

from analyzers.history.gather import copies, gather, row_counts
from analyzers.history.sources import Source
from benchmarks.small import write
from workloads.history.row_copy import NAME
from workloads.history.schema import TABLES

NUMBERS = {"records": 50, "operations": 2, "observations": 0}


def sources(runs: list[Path]) -> list[Source]:
    def files(run: Path) -> dict[str, dict[str, int]]:
        return {
            table: {str(each): 1 for each in (run / "history" / table).glob("*.parquet")} for table in TABLES
        }

    return [Source(name=run.name, local=True, files=files(run)) for run in runs]


def test_a_run_with_a_copy_needs_no_parquet_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = sources([write(tmp_path, name, 50) for name in ("a", "b")])

    def refused(*_: object, **__: object) -> NoReturn:
        raise AssertionError("opened")

    monkeypatch.setattr(pq, "ParquetFile", refused)
    monkeypatch.setattr(pq, "read_metadata", refused)
    copied = copies(runs)
    for table, number in NUMBERS.items():
        files = [file for run in runs for file in run.files[table]]
        assert row_counts(files, copied) == dict.fromkeys(files, number)
        found = gather(files, table, copied)
        assert found.counts == dict.fromkeys(files, number)
        assert found.rows.schema == TABLES[table]


def test_rows_do_not_depend_on_copies(tmp_path: Path) -> None:
    runs = [write(tmp_path, name, 50) for name in "abcd"]
    (runs[1] / "history" / NAME).unlink()
    of_runs = sources(runs)
    copied = copies(of_runs)
    assert len(copied) == 9
    for table in TABLES:
        files = [file for run in of_runs for file in run.files[table]]
        assert gather(files, table, copied) == gather(files, table, {})
        assert row_counts(files, copied) == row_counts(files)


def test_columns_that_a_copy_lacks_are_null(tmp_path: Path) -> None:
    """It has no columns without values, and one that an older kafkacheck wrote has the columns of its files."""
    (run,) = sources([write(tmp_path, "a", 50)])
    (file,) = run.files["records"]
    rows = copies([run])[file]
    assert "amount" not in rows.column_names
    found = gather([file], "records", {file: rows.drop_columns(["assignment"])}).rows
    assert found.schema == TABLES["records"]
    assert found["amount"].null_count == found["assignment"].null_count == len(rows)
    assert found.select(["run", "op", "value"]) == rows.select(["run", "op", "value"])
