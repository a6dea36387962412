"""Plans that a session keeps: the same verdicts, one history at a time, and new plans where they would differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from analyzers.catalogue.registry import CHECKS
from analyzers.history import load as loading
from analyzers.history.gather import only_run
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.spark.internals.kept_plans import KeptPlans, kept_plans
from tests.support.repetitions import repetitions
from tests.support.spark_jobs import jobs

pytestmark = pytest.mark.spark

RUNS = Path(__file__).parents[1] / "data" / "runs"
RECORDED = [
    RUNS / name for name in ("acks_one", "torn_transfer", "follower_reads")[: repetitions(3, shorter=2)]
]
ASKED = CHECKS[:: repetitions(1, shorter=8)]
"""Checks of the tests that judge these runs several times."""


@pytest.fixture
def reads_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small histories are not handed over as rows, so that their plans are kept."""
    monkeypatch.setattr(loading, "HANDED_OVER", 0)


@pytest.fixture
def plans(spark: Any, tmp_path: Path) -> KeptPlans:
    """Of tables with one column of numbers."""
    return KeptPlans(spark, {"numbers": StructType([StructField("n", LongType())])}, tmp_path)


@pytest.fixture(scope="module")
def separate(spark: Any) -> dict[str, Any]:
    """The verdicts on the recorded runs, one by one, by plans that are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "HANDED_OVER", 0)
        verdicts = one_by_one(spark)
    assert all(verdict.findings for verdict in verdicts.values()), "otherwise comparisons show little"
    return verdicts


def one_by_one(spark: Any, homes: Sequence[Path] = RECORDED) -> dict[str, Any]:
    """The verdicts on the recorded runs."""
    return {run: verdict for home in homes for run, verdict in analyze(spark, [home], checks=ASKED).items()}


def rows(plans: KeptPlans, statement: str) -> list[Any]:
    """Of a statement over ``{numbers}``."""
    return plans.rows(statement, lambda tables: tables["numbers"].sparkSession.sql(statement, **tables))


def numbers(file: Path, *values: int) -> Path:
    pq.write_table(pa.table({"n": pa.array(values, pa.int64())}), file)
    return file


@pytest.mark.usefixtures("reads_files")
def test_verdicts_of_kept_plans_are_those_of_new_ones(
    spark: Any, monkeypatch: pytest.MonkeyPatch, separate: dict[str, Any]
) -> None:
    """One run after another, and all at once, so that each is judged by the plans that others left."""
    together = analyze(spark, RECORDED, checks=ASKED)
    planned: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(KeptPlans, "_planned", lambda _, result: planned.append(result))
        again = one_by_one(spark)
        assert analyze(spark, RECORDED, checks=ASKED) == together
    assert planned == []
    assert again == together == separate
    assert kept_plans(spark, {}) is not None
    monkeypatch.setattr(loading, "kept_plans", lambda *_: None)
    anew = one_by_one(spark, RECORDED[: repetitions(3, shorter=1)])
    assert anew
    assert anew.items() <= separate.items()


@pytest.mark.nightly
@pytest.mark.usefixtures("reads_files")
@pytest.mark.parametrize("files", [1000, 2], ids=["files of each run", "one file"])
def test_verdicts_on_several_runs_are_those_on_each(
    spark: Any, monkeypatch: pytest.MonkeyPatch, separate: dict[str, Any], files: int
) -> None:
    """Also with a condition that names no sessions, as for many runs."""
    monkeypatch.setattr(loading, "MANY", files)
    history = load(spark, sources(spark, RECORDED))
    assert history.is_kept
    release(spark, history)
    together = analyze(spark, RECORDED, checks=ASKED)
    assert together == separate
    monkeypatch.setattr(loading, "MANY_RUNS", 1)
    assert analyze(spark, RECORDED, checks=ASKED) == together


@pytest.mark.usefixtures("reads_files")
def test_plans_are_kept_for_one_history_at_a_time_as_it_was_loaded(spark: Any) -> None:
    first, second = RECORDED[:2]
    held = load(spark, sources(spark, [first]))
    beside = load(spark, sources(spark, [second]))
    assert (held.is_kept, beside.is_kept) == (True, False)
    assert not dataclasses.replace(held, records=held.records.where("f = 'send'")).is_kept
    statement = "select run, count(*) as n from {records} group by run"
    assert held.rows(statement) != beside.rows(statement)
    release(spark, held)
    after = load(spark, sources(spark, [second]))
    assert after.is_kept
    assert after.rows(statement) == beside.rows(statement)
    release(spark, after)


def test_rows_are_those_of_the_files_that_were_taken_last(plans: KeptPlans, tmp_path: Path) -> None:
    statement = "select sum(n) as total from {numbers}"
    some, more = numbers(tmp_path / "some.parquet", 1, 2), numbers(tmp_path / "more.parquet", 1 << 62, 3)
    for files, total in (([some], 3), ([some, more], 6 + (1 << 62)), ([], None), ([more], 3 + (1 << 62))):
        assert plans.take({"numbers": map(str, files)})
        assert [row.total for row in rows(plans, statement)] == [total]
        plans.give_back()


def test_a_plan_for_one_run_gives_each_run_its_own_id(spark: Any, tmp_path: Path) -> None:
    """Also where a statement groups by it, joins on it, and returns no rows."""
    schema = StructType([StructField("run", StringType()), StructField("n", LongType())])
    plans = KeptPlans(spark, {"numbers": schema}, tmp_path)
    statement = """
        select run, sum(n) as total, max(most) as most
        from {numbers} join (select run, max(n) as most from {numbers} group by run) using (run)
        where n > 1 group by run
    """
    for run, values, expected in (
        ("a", [1, 2, 3], [("a", 5, 3)]), ("b", [5], [("b", 5, 5)]), ("c", [1], []),
    ):  # fmt: skip
        file = tmp_path / f"{run}.parquet"
        pq.write_table(pa.table({"run": [run] * len(values), "n": values}), file)
        assert only_run([str(file)]) == run
        for known in (run, None):
            assert plans.take({"numbers": [str(file)]}, run=known)
            assert [tuple(row) for row in rows(plans, statement)] == expected
            plans.give_back()
    files = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    assert only_run(files) is None
    assert plans.take({"numbers": files})
    assert sorted(map(tuple, rows(plans, statement))) == [("a", 5, 3), ("b", 5, 5)]
    plans.give_back()


def test_footers_without_statistics_name_no_run(tmp_path: Path) -> None:
    file = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"run": ["a"]}), file, write_statistics=False)
    assert only_run([str(file)]) is None
    pq.write_table(pa.table({"run": ["a", None]}), file)
    assert only_run([str(file)]) is None


def test_rows_have_the_types_that_spark_returns(spark: Any, plans: KeptPlans, tmp_path: Path) -> None:
    statement = """
        select n, if(n = 1, 'a', null) as text, n = 1 as is_one, cast(n as int) as small, array(n, null) as list,
            if(
                n = 1, named_struct('a', n, 'b', array(named_struct('c', cast(null as string), 'd', n))), null
            ) as nested,
            cast('ab' as binary) as bits
        from {numbers}
    """
    file = numbers(tmp_path / "n.parquet", 1, 2)
    assert plans.take({"numbers": [str(file)]})
    expected = spark.sql(statement, numbers=spark.read.parquet(str(file))).collect()
    assert rows(plans, statement) == expected
    assert [row.nested and row.nested.b[0].d for row in rows(plans, statement)] == [1, None]
    assert [row.asDict(recursive=True) for row in rows(plans, statement)] == [
        row.asDict(recursive=True) for row in expected
    ]
    plans.give_back()


def test_equal_subqueries_are_computed_once(spark: Any, plans: KeptPlans, tmp_path: Path) -> None:
    assert plans.take({"numbers": [str(numbers(tmp_path / "a", 1, 2, 3))]})
    most = "(select max(n) from {numbers})"
    found: list[Any] = []
    ran = jobs(
        spark,
        lambda: found.extend(rows(plans, f"select n, {most} as most from {{numbers}} where n < {most}")),
    )
    plans.give_back()
    assert sorted(found) == [(1, 3), (2, 3)]
    assert len(ran) == 2


def test_other_settings_have_plans_of_their_own(
    spark: Any, plans: KeptPlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Any] = []
    plan = KeptPlans._planned

    def noted(self: KeptPlans, result: Any) -> Any:
        planned.append(result)
        return plan(self, result)

    monkeypatch.setattr(KeptPlans, "_planned", noted)
    key = "spark.sql.shuffle.partitions"
    before = spark.conf.get(key)
    try:
        for partitions in ("1", "2", "1"):
            spark.conf.set(key, partitions)
            assert plans.take({"numbers": []})
            rows(plans, "select n from {numbers}")
            plans.give_back()
    finally:
        spark.conf.set(key, before)
    assert len(planned) == 2


def test_after_an_error_the_next_history_is_taken(plans: KeptPlans, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"no parquet")
    assert plans.take({"numbers": [str(broken)]})
    with pytest.raises(Exception, match="Parquet"):
        rows(plans, "select n from {numbers}")
    plans.give_back()
    assert plans.take({"numbers": [str(numbers(tmp_path / "n.parquet", 5))]})
    assert [row.n for row in rows(plans, "select n from {numbers}")] == [5]
