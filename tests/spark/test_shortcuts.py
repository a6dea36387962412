"""Shortcuts through Spark's private parts: whichever breaks, the verdict is the same, after one warning."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException

from analyzers.checks.durability import DUPLICATE, LOST_WRITE
from analyzers.history import load as loading
from analyzers.history.load import load, release
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.spark import session
from analyzers.spark.internals import jvm, kept_plans, quick_start, shortcut, tuning
from analyzers.spark.internals.kept_plans import KEPT_PLANS
from analyzers.spark.internals.quick_start import QUICK_START, QuickStart, is_unavailable
from analyzers.spark.internals.shortcut import SWITCH, Shortcut
from tests.spark.conftest import Story, Write
from tests.support.stories.failing_applications import FAILING_APPLICATIONS
from tests.support.stories.failures import FAILURES
from tests.support.stories.planted import BOUNDS, PLANTED
from tests.support.stories.whole_runs import all_stories

pytestmark = pytest.mark.spark

ONE = 1 << 40
ROOT = Path(__file__).parents[2]
BREAK = ROOT / "tests" / "support" / "broken_shortcuts.py"
SHORTCUTS = (KEPT_PLANS, QUICK_START, tuning.CLASS_LOADER, tuning.HADOOP_DEFAULTS, jvm.OWN_JVM)
CHECKS = [LOST_WRITE, DUPLICATE]


@pytest.fixture(autouse=True)
def as_when_the_process_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shortcut has failed, and no plan is kept."""
    for each in SHORTCUTS:
        monkeypatch.setattr(each, "has_failed", False)
    monkeypatch.setattr(kept_plans, "_of_sessions", WeakKeyDictionary())
    monkeypatch.setattr(loading, "HANDED_OVER", 0)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    return lambda: [
        each.getMessage()
        for each in caplog.records
        if each.name == shortcut.__name__ and each.levelno >= logging.WARNING
    ]


@pytest.fixture(scope="module")
def run(write: Write, story: type[Story], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lost a write."""
    lost = story().send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).final({0: ONE}, end=2)
    return write(tmp_path_factory.mktemp("runs") / "run", {"run": lost})


@pytest.fixture(scope="module")
def expected(spark: Any, run: Path) -> Any:
    """The verdict without shortcuts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "1")
        patch.setattr(loading, "HANDED_OVER", 0)
        verdicts = analyze(spark, [run], checks=CHECKS)
    assert verdicts["run"].result == "invalid"
    return verdicts


def renamed_class(patch: pytest.MonkeyPatch) -> None:
    init = kept_plans._Classes.__init__

    def without_a_class(self: Any, spark: Any) -> None:
        init(self, spark)
        self._reuse = spark._jvm.org.apache.spark.sql.execution.reuse.RenamedRule

    patch.setattr(kept_plans._Classes, "__init__", without_a_class)


def renamed_attribute(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(kept_plans, "_execution", lambda frame: frame._renamed.queryExecution())


def missing_method(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(kept_plans._StandIn, "refresh", lambda self: self._index.renamedRefresh())


def error_at_the_second_statement(patch: pytest.MonkeyPatch) -> None:
    rows_of, calls = kept_plans._Classes.rows_of, []

    def fails_later(self: Any, optimised: Any) -> str:
        calls.append(optimised)
        return rows_of(self, optimised if len(calls) == 1 else None)

    patch.setattr(kept_plans._Classes, "rows_of", fails_later)


@pytest.mark.parametrize("breaks", [renamed_attribute, missing_method, error_at_the_second_statement])
def test_rows_without_kept_plans(
    spark: Any, run: Path, monkeypatch: pytest.MonkeyPatch, warnings: Any, breaks: Any
) -> None:
    breaks(monkeypatch)
    for _ in range(2):
        history = load(spark, sources(spark, [run]))
        try:
            assert [row.n for row in history.rows("select count(*) as n from {records}")] == [4]
            assert [row.run for row in history.rows("select distinct run from {records}")] == ["run"]
        finally:
            release(spark, history)
    assert len(warnings()) == 1


def test_a_verdict_without_kept_plans(
    spark: Any, run: Path, expected: Any, monkeypatch: pytest.MonkeyPatch, warnings: Any
) -> None:
    renamed_class(monkeypatch)
    assert analyze(spark, [run], checks=CHECKS) == expected
    (warning,) = warnings()
    assert warning.startswith("The shortcut 'kept plans' is not possible with Spark ")
    assert "--plain-spark" in warning


def test_an_error_of_a_statement_is_its_own(spark: Any, run: Path, warnings: Any) -> None:
    history = load(spark, sources(spark, [run]))
    try:
        assert history.is_kept
        with pytest.raises(AnalysisException, match="no_such_column"):
            history.rows("select no_such_column from {records}")
        assert len(history.rows("select value from {records}")) == 4
    finally:
        release(spark, history)
    assert (KEPT_PLANS.is_on, warnings()) == (True, [])


@pytest.mark.parametrize("gone", [Py4JNetworkError("no answer"), ConnectionResetError()])
def test_a_dead_jvm_is_no_failure_of_a_shortcut(warnings: Any, gone: Exception) -> None:
    def quick() -> None:
        raise gone

    one = Shortcut("one")
    with pytest.raises(type(gone)):
        one.either(quick, lambda: pytest.fail("the plain way would ask the dead JVM"))
    assert (one.is_on, warnings()) == (True, [])


def test_a_verdict_without_the_shared_class_loader(spark: Any, warnings: Any) -> None:
    older = spark._jvm.java.lang.Thread  # has no method `sessions`, as the class of Spark 4.1
    executor = SimpleNamespace(IsolatedSessionState=older)
    packages = SimpleNamespace(apache=SimpleNamespace(spark=SimpleNamespace(executor=executor)))
    without: Any = SimpleNamespace(_jvm=SimpleNamespace(org=packages, java=spark._jvm.java))
    tuning.share_class_loader(without)
    tuning.share_class_loader(without)
    tuning.return_class_loader(without._jvm)
    (warning,) = warnings()
    assert "'one class loader'" in warning


def test_hadoops_defaults_come_back_when_they_cannot_be_dropped(
    spark: Any, monkeypatch: pytest.MonkeyPatch, warnings: Any
) -> None:
    """Hadoop refuses to set what has no value, after all settings were dropped."""
    monkeypatch.setattr(tuning, "BUFFER", "renamed")
    tuning.restore_defaults(spark)
    tuning.drop_defaults(spark, {})
    assert spark._jsc.hadoopConfiguration().get("fs.s3a.impl") is not None
    (warning,) = warnings()
    assert "'no defaults of Hadoop'" in warning


def test_spark_starts_with_its_own_launcher_when_the_quick_start_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: Any
) -> None:
    def launch_directly(*_: Any, **__: Any) -> None:
        raise ImportError("cannot import name 'read_int'")

    quick = QuickStart(archive=tmp_path / "classes.jsa", command=("java",))
    monkeypatch.setattr(quick_start, "find_quick_start", lambda _: quick)
    monkeypatch.setattr(quick_start, "launch_directly", launch_directly)
    monkeypatch.setattr(
        jvm, "launch_with_launcher", lambda conf, **_: conf.get("spark.driver.extraJavaOptions")
    )
    monkeypatch.setattr(session, "has_context", lambda: False)
    monkeypatch.setattr(session, "current_jvm", lambda: None)
    monkeypatch.setattr(session, "open_spark", lambda *_, launch, **__: launch())
    # With settings of Hadoop, none are dropped.
    options: Any = session.spark_session(java=tmp_path, conf={"spark.hadoop.own": "1"})
    assert "SharedArchiveFile" not in options
    (warning,) = warnings()
    assert "'quick start'" in warning
    assert "cannot import name 'read_int'" in warning


def test_spark_starts_as_in_any_program_when_pyspark_takes_no_jvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: Any
) -> None:
    ended = []
    other: Any = SimpleNamespace()

    def refuses(*_: Any) -> None:
        raise TypeError("SparkContext() got an unexpected argument 'gateway'")

    builder = SimpleNamespace(config=lambda **_: SimpleNamespace(getOrCreate=lambda: "session"))
    monkeypatch.setattr(jvm, "current_jvm", lambda: None)
    monkeypatch.setattr(jvm, "end_jvm", ended.append)
    monkeypatch.setattr(jvm.atexit, "register", lambda *_: None)
    monkeypatch.setattr(jvm, "open_session", refuses)
    monkeypatch.setattr(jvm, "SparkSession", SimpleNamespace(builder=builder))
    opened: Any = jvm.open_spark(other, scratch=tmp_path, java=None, launch=lambda: other)
    assert (opened, ended) == ("session", [other])
    assert len(warnings()) == 1


def test_the_switch_turns_all_of_them_off(spark: Any, monkeypatch: pytest.MonkeyPatch, warnings: Any) -> None:
    assert all(each.is_on for each in SHORTCUTS)
    for value, is_on in (("1", False), ("off", True), ("", True)):
        monkeypatch.setenv(SWITCH, value)
        assert {each.is_on for each in SHORTCUTS} == {is_on}
    monkeypatch.setattr(shortcut, "_is_plain", True)
    assert not any(each.is_on for each in SHORTCUTS)
    assert is_unavailable()
    assert kept_plans.kept_plans(spark, loading.SCHEMAS) is None
    assert warnings() == []


@pytest.mark.nightly
def test_all_stories_have_the_same_verdicts_without_shortcuts(
    judged: Any, monkeypatch: pytest.MonkeyPatch, warnings: Any
) -> None:
    made = {make.__name__: make for make in (*PLANTED, *FAILURES, *FAILING_APPLICATIONS)}
    stories = {name: make(Story()) for name, make in made.items()} | all_stories(Story)
    quick = judged(stories, bounds=BOUNDS)
    assert (warnings(), len(kept_plans._of_sessions)) == ([], 1)
    monkeypatch.setenv(SWITCH, "1")
    assert judged(stories, bounds=BOUNDS) == quick


@pytest.mark.nightly
@pytest.mark.parametrize("broken", ["none", jvm.OWN_JVM.name, "all"])
def test_a_process_with_a_broken_shortcut(run: Path, expected: Any, broken: str, tmp_path: Path) -> None:
    """From the start of Spark to the verdict. The quick start is present, as `kafkacheck setup` makes it."""
    command = [sys.executable, str(BREAK), broken, str(run)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["verdict"] == json.loads(json.dumps(expected["run"].to_json()))
    assert sorted(answer["warnings"]) == sorted(
        each.name for each in SHORTCUTS if broken in (each.name, "all")
    )
    assert list(tmp_path.iterdir()) == []
