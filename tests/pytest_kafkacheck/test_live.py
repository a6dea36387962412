"""A run is judged live only if its experiment asks for it."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.experiment import harness as module
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.judging import MIN_LIMIT, keeps_records, next_limit
from pytest_kafkacheck.spark import Spark
from workloads.admin import Admin
from workloads.append_log import AppendLog
from workloads.history.live.window import LIMIT


def live_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "kafkacheck-live"]


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_live_judging_lasts_as_long_as_the_load(
    live: bool, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def execute(*_: Any, **__: Any) -> None:
        seen.append(live_threads())
        if fails:
            raise RuntimeError("the load failed")

    cluster = SimpleNamespace(run="r1", save_logs=lambda _: None)
    monkeypatch.setattr(module, "execute", execute)
    monkeypatch.setattr(Harness, "cluster", lambda *_, **__: nullcontext(cluster))
    monkeypatch.setattr(
        Harness, "judge", lambda *_, **__: seen.append(live_threads()) or SimpleNamespace(result="valid")
    )
    monkeypatch.setattr(Spark, "start", lambda *_, **__: None)
    experiment = Experiment(workload=AppendLog(), live_checks=live)
    with Harness(tmp_path) as harness, pytest.raises(RuntimeError) if fails else nullcontext():
        harness.run(experiment)
    assert seen == [["kafkacheck-live"] * live, *([] if fails else [[]])]
    assert live_threads() == []


@pytest.mark.parametrize(
    ("experiment", "keeps"),
    [
        (Experiment(workload=AppendLog(), faults=[api.kill("leader", at=1, lasting=2)]), True),
        (Experiment(workload=AppendLog(), faults=[api.delete_records(at=1)]), False),
        (Experiment(workload=Admin()), False),
        (Experiment(workload=Admin(deleted_share=0)), True),
    ],
)
def test_what_a_deletion_would_excuse_is_judged_where_nothing_is_to_delete_records(
    experiment: Experiment, keeps: bool
) -> None:
    assert keeps_records(experiment) is keeps


def test_the_window_shrinks_when_rounds_take_too_long() -> None:
    assert next_limit(LIMIT, took=16, every=15) == LIMIT // 2
    assert next_limit(LIMIT // 2, took=10, every=15) == LIMIT // 2
    assert next_limit(LIMIT // 2, took=1, every=15) == LIMIT == next_limit(LIMIT, took=1, every=15)
    assert next_limit(MIN_LIMIT, took=100, every=15) == MIN_LIMIT
