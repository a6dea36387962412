"""A part of many run directories is read from the files of its runs only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from histories import Shape, write_compacted

from analyzers.catalogue.registry import CHECKS
from analyzers.history.load import History, load, release
from analyzers.history.run_directories import MANY
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from tests.support.repetitions import repetitions
from workloads.history.schema import TABLES

pytestmark = pytest.mark.spark

ONE = 1 << 40
BUCKETED = Shape(records=8_000, run="broken", planted=3, logs=4)


@pytest.fixture(autouse=True)
def in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat these small histories like large ones."""
    for limit in ("HANDED_OVER", "ONE_PIECE"):
        monkeypatch.setattr(f"analyzers.history.load.{limit}", 0)


@pytest.fixture(scope="module")
def runs(write: Any, story: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """As a folder is copied: names of directories that say nothing, two runs in one, and one run in two."""
    folder = tmp_path_factory.mktemp("a b%20[c]:d")
    good = story().send(ONE, 0).final({0: ONE}, end=1)
    lost = story().send(ONE, 0).send(ONE + 1, 1).final({1: ONE + 1}, end=2)
    held = [{f"r{number}": good} for number in range(MANY + 2)]
    held[3] = {"r3": lost, "both": lost}
    held[5] = {"r5": good, "both": good}
    return [write(folder / f"copy {number} of {MANY}", each) for number, each in enumerate(held)]


@pytest.fixture
def loaded(spark: Any) -> Iterator[Any]:
    histories: list[History] = []

    def of(runs: list[Any]) -> History:
        histories.append(load(spark, sources(spark, runs)))
        return histories[-1]

    yield of
    for each in histories:
        release(spark, each)


def read_of(history: History, table: str) -> set[str]:
    """The directories of the files that Spark would read."""
    return {Path(file).parents[2].name.replace("%20", " ") for file in getattr(history, table).inputFiles()}


def test_files_of_other_runs_are_left_out(runs: list[Path], loaded: Any) -> None:
    history = loaded([f"file://{run}" for run in runs])
    for names, numbers in [(["r1"], [1]), (["both"], [3, 5]), (["r1", "r3"], [1, 3])]:
        part = history.of_runs(names)
        for table in TABLES:
            of_part = sorted(map(str, getattr(part, table).collect()))
            assert of_part == sorted(
                str(row) for row in getattr(history, table).collect() if row.run in names
            )
            assert read_of(part, table) == {runs[number].name for number in numbers}


def test_most_of_the_runs_are_read_from_all_files(runs: list[Path], loaded: Any) -> None:
    history = loaded([f"file://{run}" for run in runs])
    part = history.of_runs([f"r{number}" for number in range(2, MANY + 2)])
    assert len(read_of(part, "operations")) == len(runs)


@pytest.mark.nightly
def test_a_part_of_runs_in_buckets(spark: Any, loaded: Any, tmp_path: Path) -> None:
    """Still in buckets, so that grouping by log needs no shuffle."""
    runs = [tmp_path / f"it's {number}" for number in range(MANY)]
    for number, run in enumerate(runs):
        shape = BUCKETED if number == 3 else Shape(records=8_000, run=f"good-{number}", logs=4)
        write_compacted(shape, run)
    history = loaded(runs)
    assert history.loaded.registered
    part = history.of_runs(["broken"])
    assert read_of(part, "records") == {"it's 3"}
    assert part.records.count() == history.records.where("run = 'broken'").count() > 0
    grouped = part.records.groupBy("run", "topic", "partition").count()
    assert "Exchange" not in grouped._jdf.queryExecution().executedPlan().toString()
    verdicts = analyze(spark, runs)
    assert {each.anomaly: each.count for each in verdicts["broken"].findings} == BUCKETED.expected()
    assert all(one.result == "valid" for run, one in verdicts.items() if run != "broken")


@pytest.mark.nightly
def test_the_same_verdicts(spark: Any, runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    uris = [f"file://{run}" for run in runs]
    checks = CHECKS[:: repetitions(1, shorter=8)]
    verdicts = analyze(spark, uris, checks=checks)
    found = {run: one.to_json() for run, one in verdicts.items()}
    assert (verdicts["r1"].result, verdicts["r3"].result) == ("valid", "invalid")
    monkeypatch.setattr("analyzers.history.load.MANY_DIRECTORIES", 1_000)
    assert found == {run: one.to_json() for run, one in analyze(spark, uris, checks=checks).items()}


def test_a_spelling_that_is_not_known_leaves_nothing_out(
    runs: list[Path], loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzers.history.run_directories.as_listed", str.upper)
    history = loaded([f"file://{run}" for run in runs])
    part = history.of_runs(["r1"])
    assert len(read_of(part, "operations")) == len(runs)
    assert {row.run for row in part.operations.collect()} == {"r1"}
