"""The end of Spark after an interrupt: nothing waits for what still starts or warms up."""

from __future__ import annotations

import subprocess
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.spark.internals import jvm as jvms
from analyzers.spark.internals import quick_start
from pytest_kafkacheck.spark import Spark


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process in the place of the JVM."""
    process = subprocess.Popen(["sleep", "600"])
    monkeypatch.setattr(jvms, "_started", [process])
    yield process
    process.kill()
    process.wait()


def test_a_spark_that_warms_up_is_killed(jvm: Any) -> None:
    spark = Spark()
    spark._opened = Future()
    spark._opened.set_result(SimpleNamespace())  # and `_ready` stays open
    spark.stop(at_once=True)
    assert jvm.poll() is not None


def test_nothing_waits_for_a_spark_that_starts(jvm: Any) -> None:
    spark = Spark()
    spark._opened = Future()
    spark.stop(at_once=True)
    assert jvm.poll() is not None
    assert jvm.pid in jvms._killed, "the thread that waits for its connection starts no other one"


def test_a_spark_of_others_is_stopped_as_usual(jvm: Any) -> None:
    spark = Spark(master="spark://host:7077")
    spark._opened = Future()
    spark._opened.set_exception(OSError("no answer"))
    spark.stop(at_once=True)
    assert jvm.poll() is None


def test_a_killed_jvm_is_not_replaced_by_the_thread_that_waits_for_it(jvm: Any, tmp_path: Path) -> None:
    jvms.kill_started()
    with pytest.raises(SystemExit):
        quick_start._wait_for_connection(jvm, tmp_path / "connection")
