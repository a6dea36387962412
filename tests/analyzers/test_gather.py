"""Which files are read to gather the rows of small histories."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from analyzers.history.gather import copies, gather, row_counts
from analyzers.history.sources import Source
from benchmarks.small import write
from workloads.history.row_copy import NAME, decode, write_copy
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
        found, expected = gather(files, table, copied), gather(files, table, {})
        assert found.counts == expected.counts == row_counts(files, copied) == row_counts(files)
        # The rows of each run in their order, those with a copy first.
        for run in "abcd":
            assert of_run(found.rows, run) == of_run(expected.rows, run)
        assert len(found.rows) == len(expected.rows)


def of_run(rows: pa.Table, run: str) -> pa.Table:
    return rows.filter(pc.equal(rows["run"], run)).combine_chunks()


def test_columns_that_a_copy_lacks_are_null(tmp_path: Path) -> None:
    """It has no columns without values, and no later ones if an older kafkacheck wrote the files."""
    run = write(tmp_path, "a", 50)
    (source,) = sources([run])
    (file,) = source.files["records"]
    older = pq.ParquetFile(file).read().drop_columns(["source"])
    pq.write_table(older, file)
    write_copy(run / "history")
    copied = copies([source])
    (rows,) = decode(copied.values())[:1]
    assert not {"amount", "source"} & set(rows.column_names)
    found = gather([file], "records", copied).rows
    assert found.schema == TABLES["records"]
    assert found["amount"].null_count == found["source"].null_count == len(rows)
    assert found.select(rows.column_names) == rows
