"""A run is judged meanwhile if its experiment says so, and only then."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.experiment import harness as module
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.live import SMALLEST, fitting
from pytest_kafkacheck.spark import Spark
from workloads.append_log import AppendLog
from workloads.history.window import LIMIT


def live_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "kafkacheck-live"]


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_judging_meanwhile_lasts_as_long_as_the_load(
    live: bool, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def execute(*_: Any, **__: Any) -> None:
        seen.append(live_threads())
        if fails:
            raise RuntimeError("the load failed")

    cluster = SimpleNamespace(save_logs=lambda _: None)
    monkeypatch.setattr(module, "execute", execute)
    monkeypatch.setattr(Harness, "cluster", lambda *_, **__: nullcontext(cluster))
    monkeypatch.setattr(
        Harness, "judge", lambda *_: seen.append(live_threads()) or SimpleNamespace(result="valid")
    )
    monkeypatch.setattr(Spark, "start", lambda _: None)
    experiment = Experiment(workload=AppendLog(), live_checks=live)
    with Harness(tmp_path) as harness, pytest.raises(RuntimeError) if fails else nullcontext():
        harness.run(experiment)
    assert seen == [["kafkacheck-live"] * live, *([] if fails else [[]])]
    assert live_threads() == []


def test_the_window_fits_the_time_there_is() -> None:
    assert fitting(LIMIT, took=16, every=15) == LIMIT // 2
    assert fitting(LIMIT // 2, took=10, every=15) == LIMIT // 2
    assert fitting(LIMIT // 2, took=1, every=15) == LIMIT == fitting(LIMIT, took=1, every=15)
    assert fitting(SMALLEST, took=100, every=15) == SMALLEST
