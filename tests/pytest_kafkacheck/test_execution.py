"""A run that has begun always ends with a history that can be judged, whichever of its steps fails."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck import kill
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.served_cluster import ServedCluster
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment import execution as module
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.recovery import log_ends
from pytest_kafkacheck.experiment.run_topics import RunTopics
from workloads.append_log import AppendLog
from workloads.clients.requests import EARLIEST, REPLICA, Leadership
from workloads.history.compaction.compact import compact
from workloads.pipeline import Pipeline
from workloads.workers.pool import WorkerPoolError

PHASES = ["steady", "recovery", "final", "end"]
LOG = ("log-r", 0)


def fail(error: Exception) -> Callable[..., Any]:
    def raise_it(*_: Any, **__: Any) -> Any:
        raise error

    return raise_it


class FakePool:
    """Workers that have acknowledged and polled as many records as the test says."""

    counts: ClassVar[Counter[str]] = Counter(acks=10)
    is_alive = True
    read: Any = None

    told: ClassVar[list[str]] = []

    def __init__(self, *_: Any, **__: Any) -> None:
        FakePool.read = None
        FakePool.told.clear()

    def __enter__(self) -> FakePool:
        return self

    def __exit__(self, *_: object) -> None: ...

    def launch(self) -> None: ...

    def kill(self) -> None: ...

    def go(self) -> None: ...

    def phase(self, name: str) -> None:
        self.told.append(name)

    def total(self, counter: str) -> int:
        return self.counts[counter]

    def reported(self, counter: str) -> int | None:
        return self.counts.get(counter)

    def alive(self) -> bool:
        return self.is_alive

    def describe(self) -> str:
        return "1 producer"

    def stop(self, *_: str, limit: float = 0) -> None: ...

    def launch_final_reads(self) -> None: ...

    def final_reads(self, ends: Any, *, limit: float) -> None:
        assert limit > 0
        FakePool.read = ends


class FakeNemesis:
    """Records an injection and a heal of its only event."""

    def __init__(self, schedule: Any, _cluster: Any, *, record: Callable[..., None], **_: Any) -> None:
        (self.event,) = schedule.events
        self.record = record

    def run(self, _stop: threading.Event) -> None:
        for stage in ("inject", "heal"):
            value = {
                "event": self.event.id,
                "stage": stage,
                "target": "1",
                "nodes": [1],
                "effective": True,
                "evidence": {},
            }
            self.record({"f": "kill", "type": "info", "invoked": 1, "completed": 2, "value": value})


class Run:
    """Executes an experiment whose parts are fakes, and returns the rows of the harness."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.experiment = Experiment(
            workload=AppendLog(partitions=1), faults=[kill(1, at=0, lasting=1)], cooldown=0
        )

    def rows(self, f: str) -> list[dict[str, Any]]:
        table = pq.read_table(self.home / "history" / "operations")
        rows = sorted(table.to_pylist(), key=lambda row: -row["op"])
        return [row | {"value": json.loads(row["value"])} for row in rows if row["f"] == f]

    def execute(self) -> None:
        cluster = ServedCluster({}, run="c")
        execute(
            self.experiment,
            cluster,
            run="r",
            home=self.home,
            say=lambda _: None,
            stop=threading.Event(),
        )
        compact(self.home)

    def problems(self) -> list[tuple[str, str]]:
        return [(row["value"]["step"], row["value"]["error"]) for row in self.rows("problem")]

    def phases(self) -> list[str]:
        return [row["value"]["phase"] for row in self.rows("phase")]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "WorkerPool", FakePool)
    monkeypatch.setattr(module, "Nemesis", FakeNemesis)
    monkeypatch.setattr(module, "write_environment", lambda *_: None)
    monkeypatch.setattr(module, "write_layout", lambda *_: None)
    monkeypatch.setattr(module, "wait_agreement", lambda *_, **__: None)
    monkeypatch.setattr(module, "log_ends", lambda *_, **__: ({"log-r": {0: (0, 10)}}, {}))
    monkeypatch.setattr(module, "compare_replicas", lambda *_, **__: (1, []))
    monkeypatch.setattr(RunTopics, "create", lambda _: None)
    monkeypatch.setattr(RunTopics, "delete", lambda _: None)
    return Run(tmp_path)


def test_a_run_without_problems_records_its_phases_and_its_recovery(run: Run) -> None:
    run.execute()
    assert (run.phases(), run.problems(), run.rows("unread")) == (PHASES, [], [])
    (recovery,) = run.rows("recovery")
    assert (recovery["type"], recovery["value"]) == ("ok", {"problem": None, "limit": 60.0})
    assert FakePool.read == {"log-r": {0: (0, 10)}}
    assert FakePool.told == ["steady", "recovery"], "clients may have a rate of their own in these"


def test_what_others_write_is_not_read_finally_and_stages_have_the_time_of_the_workload(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def ends(_: Any, logs: list[tuple[str, int]], **__: Any) -> Any:
        asked.extend(logs)
        return {"orders-r": {0: (0, 10)}}, {}

    limits: dict[str, float] = {}

    def stop(_: FakePool, *roles: str, limit: float = 0) -> None:
        limits.update(dict.fromkeys(roles, limit))

    monkeypatch.setattr(module, "log_ends", ends)
    monkeypatch.setattr(FakePool, "stop", stop)
    command = ["a", "{bootstrap}", "{source}", "{sink}"]
    workload = Pipeline(source="orders", command=command, partitions=2, settle=50, stop_timeout=9)
    run.experiment = Experiment(workload=workload, cooldown=0, duration=0)
    run.execute()
    assert asked == [("orders-r", 0), ("orders-r", 1)]
    assert limits == dict.fromkeys(("producer", "output-watcher", "app", "output-auditor"), 2 * 50 + 30)


def test_a_cluster_that_does_not_recover_is_recorded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "wait_agreement", lambda *_, **__: "brokers [1] do not answer")
    run.execute()
    (recovery,) = run.rows("recovery")
    assert (recovery["type"], recovery["value"]["problem"]) == ("info", "brokers [1] do not answer")
    assert run.phases() == PHASES


def test_partitions_that_can_be_read_are_read_and_the_others_are_recorded(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = {"log-r": {1: (0, 5)}}
    monkeypatch.setattr(module, "log_ends", lambda *_, **__: (ends, {LOG: "it has no leader"}))
    run.execute()
    (unread,) = run.rows("unread")
    assert (unread["topic"], unread["partition"]) == LOG
    assert (unread["type"], unread["value"]) == ("info", {"reason": "it has no leader"})
    assert FakePool.read == ends


@pytest.mark.parametrize(
    ("step", "owner", "name", "error"),
    [
        ("recovery", module, "wait_agreement", RuntimeError("unforeseen")),
        ("stop", FakePool, "stop", OSError("no such process")),
        ("final-read", module, "log_ends", InfrastructureError("no broker answers")),
        ("replicas", module, "compare_replicas", OSError("no space left on device")),
        ("final-read", FakePool, "final_reads", WorkerPoolError("final 5 was not ready")),
        ("faults", FakeNemesis, "run", OSError("disk full")),
        ("delete-topics", RunTopics, "delete", InfrastructureError("no broker accepts it")),
    ],
    ids=["recovery", "stop", "ends", "replicas", "readers", "nemesis", "topics"],
)
def test_a_step_that_fails_is_recorded_and_the_run_goes_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, step: str, owner: Any, name: str, error: Exception
) -> None:
    monkeypatch.setattr(owner, name, fail(error))
    run.execute()
    ((failed, text),) = run.problems()
    assert failed == step
    assert str(error) in text
    assert run.phases() == PHASES


def test_a_worker_pool_that_died_is_recorded_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePool, "is_alive", False)
    monkeypatch.setattr(FakeNemesis, "run", lambda _, stop: stop.wait())
    run.execute()
    ((step, text),) = run.problems()
    assert step == "load"
    assert "Every client process ended early: 1 producer" in text
    assert run.phases() == PHASES


def test_a_run_that_recorded_nothing_ends_with_the_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePool, "is_alive", False)
    monkeypatch.setattr(FakePool, "counts", Counter())
    with pytest.raises(InfrastructureError, match="Every client process ended early"):
        run.execute()


def test_topics_that_cannot_be_created_end_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunTopics, "create", fail(InfrastructureError("not ready")))
    with pytest.raises(InfrastructureError, match="not ready"):
        run.execute()


def test_an_interrupt_ends_the_run_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "wait_agreement", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.execute()
    compact(run.home)
    assert (run.phases(), run.problems()) == (["steady", "recovery"], [])


@pytest.fixture
def leaders(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let one broker report leaders, and offsets of their partitions: (high watermark, log end)."""

    def report(leader: dict[int, int], offsets: dict[int, tuple[int, int]]) -> None:
        view = {("t", number): Leadership(node, 3, (1,), (1,)) for number, node in leader.items()}
        monkeypatch.setattr(metadata_views, "views", lambda *_: {1: view})

        def offset(_: Any, log: Any, *, at: int = -1, asker: int = -1, leader_epoch: int) -> tuple[int, int]:
            assert leader_epoch == 3
            return 0, 0 if at == EARLIEST else offsets[log[1]][asker == REPLICA]

        monkeypatch.setattr(metadata_views, "offset", offset)

    return report


def test_the_end_of_a_partition_is_known_or_the_reason_why_it_is_not(leaders: Any) -> None:
    cluster = cast(Any, SimpleNamespace(brokers={1: None}))
    logs = [("t", number) for number in range(5)]
    leaders({0: 1, 1: -1, 2: 1, 3: 7, 9: 1}, {0: (10, 10), 2: (4, 6), 9: (2, 2)})
    ends, unread = log_ends(cluster, logs, limit=0)
    assert ends == {"t": {0: (0, 10), 9: (0, 2)}}, "partition 9 was added during the run"
    assert unread == {
        ("t", 1): "it has no leader",
        ("t", 2): "its high watermark 4 is not its log end 6",
        ("t", 3): "its leader, broker 7, is not in the cluster any more",
        ("t", 4): "no broker reports it",
    }
    leaders({0: 1}, {0: (10, 10)})
    assert log_ends(cluster, [("t", 0)], limit=0) == ({"t": {0: (0, 10)}}, {})
