"""Files are read once each, whatever characters their paths have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.spark.exact_paths import load, parquet_files

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
@pytest.mark.parametrize(
    "name",
    ["plain", "a b%20", "c:d", "test[acks=all]", "{x,y}", "*?", "b\\q", "^[!a-c]", "[c]:d", "%5B[x]%5D"],
)
def test_each_file_is_read_once(spark: Any, tmp_path: Path, name: str, scheme: str) -> None:
    folders = [tmp_path / name / str(number) for number in range(3)]
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"n": [number]}), folder / "part-0.parquet")
    files = [f"{scheme}{folder}/part-0.parquet" for folder in folders]
    assert sorted(row.n for row in parquet_files(spark, files).collect()) == [0, 1, 2]
    assert parquet_files(spark, files[:1], parquet_files(spark, files).schema).count() == 1
    listing = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    listed = load(listing, [f"{scheme}{folder}" for folder in folders]).select("path").collect()
    assert sorted(row.path for row in listed) == [f"file:{folder}/part-0.parquet" for folder in folders]
