"""The benchmark of several runs in one call judges copies of a recorded run, under ids of their own."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from analyzers.history.validate import run_ids
from benchmarks.together import copies
from workloads.history.schema import TABLES

RECORDED = Path(__file__).parents[1] / "data" / "runs" / "acks_one"


def test_copies_differ_in_their_run_only(tmp_path: Path) -> None:
    homes = copies(RECORDED, tmp_path, 3)
    assert [run_ids(home) for home in homes] == [{home.name} for home in homes]
    assert len({home.name for home in homes}) == 3
    for home in homes:
        for table in TABLES:
            (copy,), (original,) = (
                [pq.ParquetFile(file).read() for file in (each / "history" / table).glob("*.parquet")]
                for each in (home, RECORDED)
            )
            assert copy.drop_columns("run").equals(original.drop_columns("run"))
