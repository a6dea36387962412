"""The warm-up judges what most runs are: healthy, few or many records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.judge.warm_up import HEALTHY, ORDINARY, warm_up
from analyzers.spark.session import fit
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark


@pytest.fixture
def fitted(spark: Any) -> Iterator[Any]:
    yield spark
    fit(spark, 0)


@pytest.mark.parametrize(("tables", "in_files"), [(HEALTHY, False), (ORDINARY, True)], ids=["few", "many"])
def test_its_histories_show_nothing(fitted: Any, tables: Any, in_files: bool, tmp_path: Path) -> None:
    for table, rows in tables.items():
        folder = tmp_path / "history" / table
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[table]), folder / "0.parquet")
    history = load(fitted, sources(fitted, [tmp_path]))
    assert bool(history.records.inputFiles()) == in_files
    release(fitted, history)
    (verdict,) = analyze(fitted, [tmp_path]).values()
    assert verdict.findings == ()


@pytest.mark.parametrize(
    ("rows", "generated"),
    [
        pytest.param(None, "false", marks=pytest.mark.nightly),
        pytest.param(1_000, "false", marks=pytest.mark.nightly),
        (100_000, "true"),
    ],
)
def test_it_uses_the_plans_of_what_is_expected(fitted: Any, rows: int | None, generated: str) -> None:
    warm_up(fitted, rows=rows)
    assert fitted.conf.get("spark.sql.codegen.wholeStage") == generated


def test_settings_of_the_user_stay(fitted: Any) -> None:
    warm_up(fitted, rows=100_000, conf={"spark.sql.codegen.wholeStage": "false"})
    assert fitted.conf.get("spark.sql.codegen.wholeStage") == "false"
