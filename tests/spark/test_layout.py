"""The layout of large histories: Spark uses the same buckets, shuffles no records for the main facts, and gives the
same verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from histories import Shape, write_compacted

from analyzers.catalogue.registry import CHECKS
from analyzers.facts.registry import FACTS
from analyzers.history.buckets import buckets_to_use
from analyzers.history.load import History, load, release
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.judge.find import _hits, _statement
from analyzers.judge.first_look import plan
from analyzers.judge.scope import known
from analyzers.judge.tally import tally
from workloads.history.parquet import BUCKETS, bucket, file_name
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark


LOGS = [
    ("r", "t", 0),
    ("", "", -1),
    ("synthetic", "orders", 15),
    ("é€😀-run", "tööpic", 2**31 - 1),
    ("abcd", "abc", -(2**31)),
    (None, "abcdefg", 7),
    ("abc", None, None),
]


def test_spark_puts_a_log_into_the_same_bucket(spark: Any) -> None:
    logs = spark.createDataFrame(LOGS, "run string, topic string, partition int")
    hashed = logs.selectExpr(f"pmod(hash(run, topic, partition), {BUCKETS}) as bucket").collect()
    assert [row.bucket for row in hashed] == [bucket(*log) for log in LOGS]


def shape(run: str, **more: Any) -> Shape:
    return Shape(records=40_000, run=run, planted=3, logs=4, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of equal content: two divided into buckets, one not, and one with a hot log."""
    place = tmp_path_factory.mktemp("layout")
    for run in ("one", "two's 100% [x]"):
        write_compacted(shape(run), place / run)
    write_compacted(shape("whole"), place / "whole", buckets=None)
    write_compacted(shape("hot", hot=True), place / "hot")
    return place


@pytest.fixture(autouse=True)
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat these small histories like large ones."""
    for limit in ("HANDED_OVER", "ONE_PIECE"):
        monkeypatch.setattr(f"analyzers.history.load.{limit}", 0)


def examined(spark: Any, *homes: Path) -> History:
    """As `examine` reads it: the tally knows what the history does not have, such as compacted topics."""
    history = load(spark, sources(spark, homes))
    return replace(history, known=known(tally(history)))


@pytest.fixture
def bucketed(spark: Any, folder: Path) -> Iterator[History]:
    history = examined(spark, folder / "one", folder / "two's 100% [x]")
    assert history.loaded.registered
    yield history
    release(spark, history)


def moved(frame: Any) -> int:
    """The number of rows that a plan writes into shuffles when it runs."""
    execution = frame._jdf.queryExecution()
    execution.toRdd().count()
    rows, nodes = 0, [execution.executedPlan()]
    while nodes:
        node = nodes.pop()
        children = node.children()
        nodes += [children.apply(at) for at in range(children.size())]
        if node.getClass().getSimpleName() == "ShuffleExchangeExec":
            rows += node.metrics().apply("shuffleRecordsWritten").value()
    return rows


@pytest.mark.parametrize(
    "fact",
    [
        "values",
        "gaps",
        *(
            pytest.param(each, marks=pytest.mark.nightly)
            for each in ("conflicts", "steps", "acknowledgements")
        ),
    ],
)
def test_the_main_facts_shuffle_no_records(spark: Any, bucketed: History, folder: Path, fact: str) -> None:
    """A few rows are shuffled: one for each log, and the steps over missing offsets."""
    records = bucketed.records.count()
    assert moved(FACTS[fact](bucketed)) < records / 20
    if fact in ("values", "conflicts", "acknowledgements"):
        plain = examined(spark, folder / "whole")
        assert moved(FACTS[fact](plain)) > plain.records.count() / 3


def test_the_first_look_shuffles_no_records(bucketed: History) -> None:
    assert moved(bucketed.sql(plan(CHECKS).sql())) < bucketed.records.count() / 20


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(["one", "two's 100% [x]"], marks=pytest.mark.nightly),
        pytest.param(["one", "whole"], marks=pytest.mark.nightly),
        pytest.param(["whole"], marks=pytest.mark.nightly),
        pytest.param(["hot"], marks=pytest.mark.nightly),
    ],
    ids=", ".join,
)
def test_the_verdict_does_not_depend_on_the_layout(spark: Any, folder: Path, runs: list[str]) -> None:
    verdicts = analyze(spark, [folder / run for run in runs])
    assert sorted(verdicts) == sorted(runs)
    for run, verdict in verdicts.items():
        found = {finding.anomaly: finding.count for finding in verdict.findings}
        assert found == shape(run).expected()
        assert verdict.unknowns == ()


@pytest.mark.parametrize("limit", ["HANDED_OVER", pytest.param("ONE_PIECE", marks=pytest.mark.nightly)])
def test_one_partition_needs_no_shuffle(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"analyzers.history.load.{limit}", 1 << 40)
    history = load(spark, sources(spark, [folder / "one"]))
    assert history.loaded.registered is None
    assert moved(history.sql(plan(CHECKS).sql())) == 0
    release(spark, history)
    (verdict,) = analyze(spark, [folder / "one"]).values()
    assert {finding.anomaly: finding.count for finding in verdict.findings} == shape("one").expected()


def test_findings_are_neither_shuffled_nor_sorted(spark: Any, tmp_path: Path) -> None:
    write_compacted(Shape(records=20_000, run="broken", logs=4, lost_one=2), tmp_path / "broken")
    history = examined(spark, tmp_path / "broken")
    lost = [check for check in CHECKS if check.name == "lost-write"]
    first = spark.sql(_statement({}, 8), table=_hits(FACTS["values"](history), lost))
    assert sum(row.in_log for row in first.collect()) > 4_000
    assert moved(first) < 100
    release(spark, history)


@pytest.mark.parametrize("is_embedded", [True, False])
def test_small_files_are_copied_only_where_all_tasks_find_the_copy(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, is_embedded: bool
) -> None:
    monkeypatch.setattr("analyzers.history.load.MANY", 2)
    monkeypatch.setattr("analyzers.history.load.is_embedded", lambda _: is_embedded)
    history = load(spark, sources(spark, [folder / "one", folder / "hot", folder / "whole"]))
    assert (history.loaded.scratch is not None) == is_embedded
    release(spark, history)


def test_buckets_are_not_copied_into_one_file(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzers.history.load.MANY", 2)
    history = load(spark, sources(spark, [folder / "one"]))
    assert history.loaded.registered
    release(spark, history)


def test_buckets_are_ignored_when_one_is_far_larger(spark: Any, folder: Path) -> None:
    assert load(spark, sources(spark, [folder / "hot"])).loaded.registered is None


@pytest.mark.parametrize(
    ("sizes", "used"), [([32_305, 32_097, 32_086], 32), ([16_000, 16_000, 500_000], None)]
)
def test_buckets_are_used_when_their_sizes_are_about_equal(
    spark: Any, sizes: list[int], used: int | None
) -> None:
    files = {f"run/{file_name(number, BUCKETS)}": size for number, size in enumerate(sizes)}
    assert buckets_to_use(spark, files) == used


@pytest.mark.nightly
def test_a_history_at_a_uri(spark: Any, folder: Path, tmp_path: Path) -> None:
    uris = [(folder / run).as_uri() for run in ("one", "whole")]
    for uri in uris:
        (verdict,) = analyze(spark, [uri]).values()
        assert {finding.anomaly: finding.count for finding in verdict.findings} == shape("").expected()
    assert not sources(spark, uris)[0].local
    (tmp_path / "none" / "history").mkdir(parents=True)
    assert analyze(spark, [(tmp_path / "none").as_uri()])["none"].result == "unknown"
    with pytest.raises(FileNotFoundError, match="nowhere/history does not exist"):
        analyze(spark, [(tmp_path / "nowhere").as_uri()])


def test_many_small_histories_are_read_once(spark: Any, write: Any, story: Any, tmp_path: Path) -> None:
    for number in range(40):
        recorded = story().send(1 << 40, 0)
        write(
            tmp_path / f"r{number}", {f"r{number}": recorded.final({0: 1 << 40} if number % 2 else {}, end=1)}
        )
    verdicts = analyze(spark, sorted(tmp_path.iterdir()))
    assert {run: verdict.result for run, verdict in verdicts.items()} == {
        f"r{number}": "valid" if number % 2 else "invalid" for number in range(40)
    }
    history = load(spark, sources(spark, sorted(tmp_path.iterdir())))
    (one,) = history.records.inputFiles()
    release(spark, history)
    assert not Path(one.removeprefix("file://")).exists()


def test_a_table_of_operations_is_in_one_piece_only_if_it_is_small(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where there are few records."""
    home = sources(spark, [folder / "one"])
    history = load(spark, home)
    rows = {table: getattr(history, table).count() for table in TABLES}
    release(spark, history)
    assert rows["operations"] > 0
    for limit, is_one in [(sum(rows.values()) - 1, False), (sum(rows.values()), True)]:
        monkeypatch.setattr("analyzers.history.load.ONE_PIECE", limit)
        history = load(spark, home)
        assert history.in_one_piece == is_one
        release(spark, history)
