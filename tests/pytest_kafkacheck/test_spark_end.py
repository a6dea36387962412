"""The end of Spark after an interrupt: nothing waits for what still starts or warms up."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkConf

from analyzers.judge import warm_up as warm_ups
from analyzers.spark import session
from analyzers.spark.internals import jvm as jvms
from analyzers.spark.internals import quick_start
from pytest_kafkacheck.spark import Spark
from workloads import java_runtime


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process in the place of the JVM."""
    process = subprocess.Popen(["sleep", "600"])
    monkeypatch.setattr(jvms, "_started", [process])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A step in the background that lasts until the test is over: `begun` is set when it begins."""
    begun, over = threading.Event(), threading.Event()

    def wait(*_: Any, **__: Any) -> None:
        begun.set()
        over.wait(60)

    wait.begun = begun  # type: ignore[attr-defined]
    monkeypatch.setattr(java_runtime, "find_java", lambda: Path("java"))
    monkeypatch.setattr(session, "spark_session", lambda **_: SimpleNamespace())
    before = set(threading.enumerate())
    yield wait
    over.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)


def test_a_spark_that_warms_up_is_killed(jvm: Any, hang: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_ups, "warm_up", hang)
    spark = Spark()
    spark.start()
    assert hang.begun.wait(30)
    spark.stop(at_once=True)
    assert jvm.poll() is not None


def test_nothing_waits_for_a_spark_that_starts(jvm: Any, hang: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "spark_session", hang)
    spark = Spark(warmed=False)
    spark.start()
    assert hang.begun.wait(30)
    spark.stop(at_once=True)
    assert jvm.poll() is not None
    assert jvm.pid in jvms._killed, "the thread that waits for its connection starts no other one"


def test_a_spark_of_others_is_stopped_as_usual(jvm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise OSError("no answer")

    monkeypatch.setattr(java_runtime, "find_java", lambda: Path("java"))
    monkeypatch.setattr(session, "spark_session", fail)
    spark = Spark(master="spark://host:7077")
    spark.start()
    spark.stop(at_once=True)
    assert jvm.poll() is None


def test_a_killed_jvm_is_not_replaced_by_the_thread_that_waits_for_it(
    jvm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails with it: the wait for its connection, or the start of Spark in it."""
    monkeypatch.setattr(jvms, "start", lambda *_, **__: jvm)
    jvms.kill_started()
    with pytest.raises(SystemExit):
        quick_start.launch_directly(SparkConf(loadDefaults=False), scratch=tmp_path, command=("java",))


def test_spark_does_not_start_in_the_plain_way_once_its_jvm_was_killed(
    jvm: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in CI, where a signal came while the application started: a second JVM wrote onto the terminal."""

    def fails(*_: Any) -> None:
        jvms.kill_started()
        raise Py4JError("Answer from Java side is empty")

    started: list[str] = []
    builder = SimpleNamespace(config=lambda **_: SimpleNamespace(getOrCreate=lambda: started.append("plain")))
    monkeypatch.setattr(jvms, "open_session", fails)
    monkeypatch.setattr(jvms, "SparkSession", SimpleNamespace(builder=builder))
    monkeypatch.setattr(jvms, "current_jvm", lambda: None)
    monkeypatch.setattr(jvms.atexit, "register", lambda *_: None)
    gateway: Any = SimpleNamespace(proc=jvm)
    with pytest.raises(SystemExit):
        jvms.open_spark(SparkConf(loadDefaults=False), scratch=tmp_path, java=None, launch=lambda: gateway)
    assert started == []
