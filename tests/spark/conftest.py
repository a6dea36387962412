"""One Spark session for all tests, and stories: small histories that a test writes row by row."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.history.load import History, load, release
from analyzers.history.run_progress import PHASES
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.spark.internals import kept_plans
from analyzers.spark.internals.kept_plans import KEPT_PLANS
from analyzers.spark.internals.tuning import CLASS_LOADER, HADOOP_DEFAULTS
from analyzers.spark.session import fit, is_alive, spark_session
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.spark import Spark
from tests.support.analyzed_runs import Runs
from tests.support.stories.whole_runs import all_stories
from workloads.history.schema import HARNESS, NEMESIS, TABLES, VALUE_BITS

Row = dict[str, Any]


def value(process: int, sequence: int) -> int:
    return process << VALUE_BITS | sequence


class Story:
    """A history that grows by one row per call. Without `at`, each row takes 10 ns.

    has_phases  a story with rows of the harness gets all phases of a run if it names none.
    """

    def __init__(self) -> None:
        self.has_phases = True
        self.records: list[Row] = []
        self.operations: list[Row] = []
        self.observations: list[Row] = []
        self.now = 0

    def _row(self, row: Row, at: tuple[int, int | None] | None) -> Row:
        invoked, completed = at if at else (self.now + 1, self.now + 9)
        self.now = max(self.now + 10, invoked, completed or 0)
        return {"topic": "t", "partition": 0, "invoked": invoked, "completed": completed, "type": "ok"} | row

    def send(
        self, written: int, offset: int | None, *, at: tuple[int, int | None] | None = None, **more: Any
    ) -> Story:
        row = {
            "f": "send",
            "op": written,
            "value": written,
            "process": written >> VALUE_BITS,
            "offset": offset,
        }
        self.records.append(self._row(row | {"assignment": 0} | more, at))
        return self

    def poll(
        self,
        read: int | None,
        offset: int,
        *,
        process: int = 10,
        at: tuple[int, int | None] | None = None,
        **more: Any,
    ) -> Story:
        op = more.pop("op", (1 << 61) + len(self.records))
        row = {"f": "poll", "op": op, "value": read, "process": process, "offset": offset, "final": False}
        self.records.append(self._row(row | {"assignment": 1} | more, at))
        return self

    def operation(self, f: str, *, at: tuple[int, int | None] | None = None, **more: Any) -> Story:
        row = {"f": f, "op": (1 << 62) + len(self.operations), "process": 10}
        self.operations.append(self._row(row | more, at))
        return self

    def final(
        self, log: Mapping[int, int], *, end: int, start: int = 0, process: int = 99, **more: Any
    ) -> Story:
        """A completed final read that polls offset -> value."""
        began = self.now + 1
        for offset, read in log.items():
            self.poll(read, offset, process=process, final=True, **more)
        at = (began, self.now + 9)
        more = {"start_offset": start, "end_offset": end} | more
        return self.operation("final-read", process=process, at=at, **more)

    def fault(self, stage: str, *, event: str = "e1", effective: bool = True, f: str = "isolate") -> Story:
        value = {"event": event, "stage": stage, "target": "leader", "nodes": [2], "effective": effective}
        row = {"process": NEMESIS, "type": "info", "topic": None, "partition": None}
        return self.operation(f, value=json.dumps(value), **row)

    def harness(self, f: str, value: Row, **more: Any) -> Story:
        """An operation of the harness, such as a phase, a worker or a problem."""
        row = {"process": HARNESS, "value": json.dumps(value), "topic": None, "partition": None}
        return self.operation(f, **row | more)

    def phases(self, *names: str) -> Story:
        """The phases of a run began; default: all of those that every run has."""
        for name in names or PHASES:
            self.harness("phase", {"phase": name})
        return self

    def rows(self, run: str) -> dict[str, list[Row]]:
        """The tables, with the columns `index`, `previous` and `within` that compaction adds."""
        kinds = {row["f"] for row in self.operations if row["process"] == HARNESS}
        if kinds and "phase" not in kinds and self.has_phases:
            self.phases()
        records, last, counts = [], {}, {}
        for row in self.records:
            key = (row["process"], row["f"], row["topic"], row["partition"], row["assignment"])
            key += (row.get("generation"),)
            index = counts[row["process"]] = counts.get(row["process"], -1) + 1
            before, within = last.get(key), None
            if before is not None:
                operation = "op" if row["f"] == "poll" else "transaction"
                within = row.get(operation) is not None and row[operation] == before.get(operation)
            previous = before and before["offset"]
            records.append(row | {"run": run, "index": index, "previous": previous, "within": within})
            if (row["f"] == "poll" or row["type"] == "ok") and row["offset"] is not None:
                last[key] = row
        return {
            "records": records,
            "operations": [row | {"run": run} for row in self.operations],
            "observations": [row | {"run": run} for row in self.observations],
        }


@pytest.fixture(scope="session")
def story() -> type[Story]:
    return Story


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    # The JVM of large histories has the optimising compiler: it lives for minutes here, and the tests take a fifth
    # less time. The histories are small, and so are their plans.
    session = spark_session(heap="1g", size="large")
    fit(session, 0)
    yield session
    # A harness in a later test of this worker may have stopped it.
    if is_alive(session):
        session.stop()


@pytest.fixture(autouse=True)
def plans_are_given_back() -> Iterator[None]:
    """A history that is not released keeps the plans of its session, also from the tests that follow."""
    yield
    taken = any(plans._taken.locked() for plans in kept_plans._of_sessions.values())
    assert not taken, "a history that this test loaded still has the kept plans: call release"
    failed = [each.name for each in (KEPT_PLANS, CLASS_LOADER, HADOOP_DEFAULTS) if each.has_failed]
    assert not failed, "verdicts of this test took the plain way, see the log"


Write = Callable[[Path, Mapping[str, Story]], Path]


@pytest.fixture(scope="session")
def write() -> Write:
    """Writes stories, by run id, into one run directory, so that one Spark job judges them all."""

    def write_stories(folder: Path, stories: Mapping[str, Story]) -> Path:
        tables: dict[str, list[Row]] = {table: [] for table in TABLES}
        for run, each in stories.items():
            for table, rows in each.rows(run).items():
                tables[table] += rows
        for table, rows in tables.items():
            directory = folder / "history" / table
            directory.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[table]), directory / "0.parquet")
        return folder

    return write_stories


@pytest.fixture(scope="session")
def judged(
    spark: Any, write: Write, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, Verdict]]:
    def judge(stories: Mapping[str, Story], **options: Any) -> dict[str, Verdict]:
        return analyze(spark, [write(tmp_path_factory.mktemp("runs") / "run", stories)], **options)

    return judge


@pytest.fixture(scope="session")
def whole_runs(judged: Callable[..., dict[str, Verdict]]) -> dict[str, Verdict]:
    """The verdicts of whole runs, by name: one job for the tests of several files."""
    return judged(all_stories(Story))


@pytest.fixture
def spark_of_tests(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands use the session of the tests, and leave it running."""
    monkeypatch.setattr(Spark, "start", lambda _: None)
    monkeypatch.setattr(Spark, "stop", lambda _: None)
    monkeypatch.setattr(Spark, "session", lambda _, **__: spark)


@pytest.fixture(scope="session")
def loaded(
    spark: Any, write: Write, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Mapping[str, Story]], History]:
    def history(stories: Mapping[str, Story]) -> History:
        whole = load(spark, sources(spark, [write(tmp_path_factory.mktemp("runs") / "run", stories)]))
        release(spark, whole)
        return dataclasses.replace(whole, loaded=dataclasses.replace(whole.loaded, kept=None))

    return history


@pytest.fixture
def runs(write: Write, story: type[Story], tmp_path: Path) -> Runs:
    """A folder of runs, one for each story, named after it."""

    def make(stories: Mapping[str, Callable[[Any], Any]]) -> Path:
        for name, fill in stories.items():
            write(tmp_path / "runs" / name, {name: fill(story())})
        return tmp_path / "runs"

    return make
