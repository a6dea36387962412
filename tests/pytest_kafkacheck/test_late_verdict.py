"""An interrupted run says where its history is, and its verdict where there is one in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_kafkacheck.experiment import harness as module
from pytest_kafkacheck.experiment import late_verdict
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.late_verdict import LateVerdict
from pytest_kafkacheck.spark import Spark
from workloads.append_log import AppendLog


def judged(*_: Any, **__: Any) -> Any:
    return SimpleNamespace(headline=lambda: "INVALID  lost-write ×3")


def fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError("the session was stopped")


Interrupt = Callable[..., tuple[list[str], list[str]]]


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    """Interrupts a run at a step. Returns the notes of the interrupt, and what the harness said."""

    def interrupted_run(judge: Callable[..., Any], *, step: str = "load") -> tuple[list[str], list[str]]:
        def interrupt_at(name: str) -> None:
            if step == name:
                raise KeyboardInterrupt

        def execute(*_: Any, home: Path, **__: Any) -> None:
            (home / "history").mkdir()
            interrupt_at("load")

        @contextmanager
        def cluster(*_: Any, **__: Any) -> Iterator[Any]:
            interrupt_at("boot")
            yield SimpleNamespace(run="r1", save_logs=lambda _: interrupt_at("logs"))
            interrupt_at("removal")

        said: list[str] = []
        monkeypatch.setattr(module, "execute", execute)
        monkeypatch.setattr(Harness, "cluster", cluster)
        monkeypatch.setattr(Harness, "judge", judge)
        monkeypatch.setattr(Spark, "start", lambda *_, **__: None)
        with Harness(tmp_path, say=said.append) as harness, pytest.raises(KeyboardInterrupt) as raised:
            harness.run(Experiment(workload=AppendLog()))
        return getattr(raised.value, "__notes__", []), said

    return interrupted_run


@pytest.mark.parametrize("step", ["load", "logs", "removal"])
def test_it_says_where_the_history_is_and_the_verdict(
    interrupted: Interrupt, tmp_path: Path, step: str
) -> None:
    notes, said = interrupted(judged, step=step)
    (home,) = tmp_path.iterdir()
    assert notes == [f"its history is kept; for a verdict of it: kafkacheck analyze {home}"]
    assert said == ["verdict on what was recorded until the interrupt: INVALID  lost-write ×3"]


def test_a_run_without_a_history_has_nothing_to_be_judged(interrupted: Interrupt) -> None:
    assert interrupted(judged, step="boot") == ([], [])


def test_a_history_that_cannot_be_judged_is_kept_all_the_same(interrupted: Interrupt) -> None:
    notes, said = interrupted(fails)
    assert (len(notes), said) == (1, [])


def test_an_interrupt_of_the_verdict_says_where_the_history_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Harness, "record", lambda *_, **__: tmp_path)
    monkeypatch.setattr(Harness, "judge", judge)
    with Harness(tmp_path) as harness, pytest.raises(KeyboardInterrupt) as raised:
        harness.run(Experiment(workload=AppendLog()))
    assert raised.value.__notes__ == [
        f"its history is kept; for a verdict of it: kafkacheck analyze {tmp_path}"
    ]


def test_the_time_that_the_clean_up_took_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_verdict, "since_interrupt", lambda: 100.0)
    may_end = threading.Event()
    late = LateVerdict(tmp_path, lambda _: may_end.wait(60) and judged())
    assert late.headline() is None, "the limit was over before"
    may_end.set()


def test_nobody_waits_for_a_slow_verdict(tmp_path: Path) -> None:
    may_end = threading.Event()

    def slow(_: Path) -> Any:
        assert may_end.wait(60)
        return judged()

    late = LateVerdict(tmp_path, slow, limit=0.01)
    assert late.headline() is None
    may_end.set()
