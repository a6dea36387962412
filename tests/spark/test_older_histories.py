"""Histories whose files lack columns that were added later are judged as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analyzers.history import load as loading
from analyzers.history import remote
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.history.validate import BadHistory, run_ids
from workloads.history.schema import LATER, TABLES

pytestmark = pytest.mark.spark

ONE = 1 << 40


def rewrite_without(home: Path, table: str, columns: frozenset[str]) -> None:
    """Write a table's files again without some columns, as an older version wrote them."""
    for file in (home / "history" / table).glob("*.parquet"):
        rows = pq.ParquetFile(file).read()
        pq.write_table(rows.drop_columns(sorted(columns)), file)


@pytest.fixture
def older(write: Any, story: Any, tmp_path: Path) -> Path:
    """A run with one observation, in files without the later columns."""
    recorded = story().send(ONE, 0).final({0: ONE}, end=1)
    recorded.observations.append({"process": 5, "time": 7, "node": 1, "kind": "partition", "leader": 1})
    home: Path = write(tmp_path / "run", {"run": recorded})
    for table, columns in LATER.items():
        rewrite_without(home, table, columns)
    return home


@pytest.mark.parametrize("way", ["rows", "files", "copied files", "URI"])
def test_later_columns_are_null(spark: Any, older: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Whichever way the files are read."""
    if way != "rows":
        monkeypatch.setattr(loading, "HANDED_OVER", 0)
    if way == "copied files":
        monkeypatch.setattr(loading, "MANY", 1)
    history = load(spark, sources(spark, [older.as_uri() if way == "URI" else older]))
    assert history.observations.columns == TABLES["observations"].names
    (row,) = history.observations.collect()
    assert (row.kind, row.leader) == ("partition", 1)
    assert [row[name] for name in LATER["observations"]] == [None] * len(LATER["observations"])
    release(spark, history)


def test_validation_accepts_them_here_and_elsewhere(spark: Any, older: Path) -> None:
    assert run_ids(older) == remote.run_ids(spark, older.as_uri()) == {"run"}


def test_validation_refuses_files_that_lack_any_other_column(spark: Any, older: Path) -> None:
    rewrite_without(older, "observations", frozenset({"asked"}))
    with pytest.raises(BadHistory, match="lacks the columns asked of observations"):
        run_ids(older)
    with pytest.raises(BadHistory, match="lacks the columns asked of observations"):
        remote.run_ids(spark, older.as_uri())
