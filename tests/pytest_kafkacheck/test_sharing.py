"""Clusters that the workers of an xdist session share: who waits, who starts, who is removed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.clusters import shared
from pytest_kafkacheck.experiment.clusters.shared import SharedClusters, SharedSession, end_session
from tests.support.fake_clusters import A, B, FakeCluster, FakeEngine, fake_engine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    monkeypatch.setattr(shared, "prepare", lambda *_: None)
    return fake_engine(monkeypatch)


def clusters(engine: FakeEngine, folder: Path, name: str = "s") -> SharedClusters:
    """What one worker has of a session."""
    return SharedClusters(engine.connection, lambda _: None, session=SharedSession(folder, name, owner=1))


@pytest.mark.parametrize(
    ("first", "second", "spec", "together"),
    [
        (False, False, A, True),
        (True, False, A, False),
        (False, True, A, False),
        (True, True, A, False),
        (True, True, B, True),
    ],
)
def test_experiments_with_faults_are_alone_and_others_run_together(
    engine: FakeEngine, tmp_path: Path, first: bool, second: bool, spec: ClusterSpec, together: bool
) -> None:
    source = clusters(engine, tmp_path)
    inside = threading.Event()

    def other() -> None:
        with source.turn(spec, alone=second):
            inside.set()

    worker = threading.Thread(target=other)
    with source.turn(A, alone=first):
        worker.start()
        assert inside.wait(0.5) is together
    assert inside.wait(10)
    worker.join()


@pytest.mark.parametrize(
    ("is_used", "has_room", "is_removed"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_where_memory_is_short_idle_clusters_of_the_session_make_room(
    engine: FakeEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_used: bool,
    has_room: bool,
    is_removed: bool,
) -> None:
    def require(*_: object) -> None:
        if not has_room:
            raise InfrastructureError("no memory")

    monkeypatch.setattr(shared, "require_memory", require)
    source = clusters(engine, tmp_path)
    ours, another = SharedSession(tmp_path, "s", 1), SharedSession(tmp_path, "t", 1)
    engine.runs = [ours.run_of(A), ours.run_of(B), another.run_of(B)]
    with source.turn(B, alone=False) if is_used else nullcontext():
        source.make_room(A)
    assert engine.removed == ([ours.run_of(B)] if is_removed else [])


def test_a_start_that_was_not_finished_does_not_count(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    cluster = SimpleNamespace(close=lambda: None, spec=A)

    @contextmanager
    def running(*_: object, run: str, **__: object) -> Iterator[Any]:
        begun.append(run)
        if len(begun) == 1:
            raise InfrastructureError("killed in the middle")
        yield cluster

    def reattach(*_: object) -> Any:
        if len(begun) == 3:
            return cluster
        raise InfrastructureError("not whole")

    monkeypatch.setattr(shared, "require_memory", lambda *_: None)
    monkeypatch.setattr(shared, "running", running)
    monkeypatch.setattr(shared, "reattach", reattach)
    monkeypatch.setattr(shared.lifecycle, "repair", lambda _: None)
    source = clusters(engine, tmp_path)
    with pytest.raises(InfrastructureError, match="killed"), source.open(A, logs=tmp_path):
        pass
    # The second start is complete. The third use finds a broken cluster and starts again; the fourth does not.
    for number in (2, 3, 3):
        with source.open(A, logs=tmp_path):
            assert len(begun) == number


def test_a_cluster_runs_on_when_a_worker_ends_and_belongs_to_the_controller(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[str] = []

    def running(client: FakeEngine, spec: ClusterSpec, *, owner: dict[str, str], **options: Any) -> Any:
        owners.append(owner[reaper.OWNER])
        return client.running(spec, **options)

    monkeypatch.setattr(shared, "require_memory", lambda *_: None)
    monkeypatch.setattr(shared, "running", running)
    source = clusters(engine, tmp_path)
    with source.open(A, logs=tmp_path) as cluster:
        pass
    source.clean_up(cluster)
    assert engine.runs == [cluster.run]
    assert owners[0].startswith("1@")


def test_a_worker_uses_its_open_cluster_again_for_an_equal_spec(engine: FakeEngine, tmp_path: Path) -> None:
    source = clusters(engine, tmp_path)
    cluster = FakeCluster("shared-s-1", A, engine)
    assert source.can_reuse(cast(DockerCluster, cluster), A)
    assert not source.can_reuse(cast(DockerCluster, cluster), B)
    cluster.is_healthy = False
    assert not source.can_reuse(cast(DockerCluster, cluster), A)


@pytest.mark.parametrize("keep", [False, True])
def test_the_end_of_a_session_removes_or_keeps_its_clusters_only(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool
) -> None:
    ours, another = SharedSession(tmp_path, "s", 1).run_of(A), SharedSession(tmp_path, "t", 1).run_of(A)
    engine.runs = [ours, another]
    monkeypatch.setattr(shared, "reattach", lambda _, run: FakeCluster(run, A, engine))
    monkeypatch.setattr(shared, "connection_info", lambda cluster: f"reach {cluster.run}")
    assert end_session(engine, "s", keep=keep) == ([f"reach {ours}"] if keep else [])
    assert engine.runs == ([ours, another] if keep else [another])
