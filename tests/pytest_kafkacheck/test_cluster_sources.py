"""Each strategy for getting a cluster, without an engine; and which one the options ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nemesis.faults.isolate import isolate
from nemesis.faults.remove_broker import remove_broker
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.clusters import attached, started
from pytest_kafkacheck.experiment.clusters.attached import AttachedClusters
from pytest_kafkacheck.experiment.clusters.choose import choose_source
from pytest_kafkacheck.experiment.clusters.pool import EngineConnection
from pytest_kafkacheck.experiment.clusters.shared import SharedClusters, SharedSession
from pytest_kafkacheck.experiment.clusters.started import KeptClusters, StartedClusters
from tests.support.fake_clusters import A, B, FakeCluster, FakeEngine, fake, fake_engine, logs
from workloads.clients.security import Security

ISOLATE = isolate("leader", at=0, lasting=1)
REMOVE = remove_broker("leader", lasting=1).named("removal")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = fake_engine(monkeypatch)
    monkeypatch.setattr(started, "running", lambda client, spec, **options: client.running(spec, **options))
    monkeypatch.setattr(started, "prepare", lambda *_: None)
    return made


@pytest.fixture
def lines() -> list[str]:
    """Lines of progress."""
    return []


def session(folder: Path, name: str = "s") -> SharedSession:
    return SharedSession(folder, name, owner=1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, StartedClusters),
        ({"fresh": True}, StartedClusters),
        ({"reuse": True}, KeptClusters),
        ({"reuse": True, "fresh": True}, StartedClusters),
        ({"attach": "compose:shop"}, AttachedClusters),
        ({"attach": "compose:shop", "reuse": True, "fresh": True}, AttachedClusters),
        ({"shared": SharedSession(Path(), "s", 1)}, SharedClusters),
        ({"shared": SharedSession(Path(), "s", 1), "attach": "compose:shop"}, AttachedClusters),
    ],
)
def test_options_choose_the_strategy(options: dict[str, Any], expected: type) -> None:
    source = choose_source(EngineConnection(), lambda _: None, **options)
    assert type(source) is expected


def test_settings_of_clients_are_for_attached_clusters_only() -> None:
    security = Security(protocol="SSL")
    choose_source(EngineConnection(), str, attach="compose:shop", security=security)
    with pytest.raises(UsageError, match="name it with --attach"):
        choose_source(EngineConnection(), str, security=security)


def test_a_started_cluster_is_used_again_for_an_equal_spec(engine: FakeEngine, lines: list[str]) -> None:
    source = StartedClusters(engine.connection, lines.append)
    with source.open(A, logs=logs()) as cluster:
        assert cluster.spec == A
        assert source.can_reuse(cluster, A)
        assert not source.can_reuse(cluster, B)
        fake(cluster).is_healthy = False
        assert not source.can_reuse(cluster, A)
    assert engine.runs == []
    assert lines[0] == f"starting {A.describe()}"
    assert lines[1].startswith("every broker took and gave back a record after ")
    assert lines[2:] == [f"using the running cluster again ({A.describe()})"]


def test_fresh_clusters_are_not_used_again(engine: FakeEngine, lines: list[str]) -> None:
    source = StartedClusters(engine.connection, lines.append, fresh=True)
    with source.open(A, logs=logs()) as cluster:
        assert not source.can_reuse(cluster, A)


@pytest.mark.parametrize("attach", [None, "compose:shop"])
def test_clean_up_removes_what_an_interrupted_end_left_unless_it_is_kept(
    engine: FakeEngine, attach: str | None
) -> None:
    source = choose_source(engine.connection, lambda _: None, attach=attach)
    engine.runs = ["left", "kept"]
    engine.kept = {"kept"}
    for run in ("left", "kept"):
        source.clean_up(cast(DockerCluster, FakeCluster(run, A, engine)))
    assert engine.runs == ["kept"]


@pytest.mark.parametrize("shares", [False, True])
def test_the_spec_of_an_attached_cluster_cannot_be_started(
    engine: FakeEngine, tmp_path: Path, shares: bool
) -> None:
    source = choose_source(engine.connection, lambda _: None, shared=session(tmp_path) if shares else None)
    source.check(A, [ISOLATE, REMOVE])
    with pytest.raises(UsageError, match=r"ClusterSpec.attached=.*--kafkacheck-attach"):
        source.check(ClusterSpec(attached={1: "combined"}))


def test_a_kept_cluster_is_taken_over_and_where_there_is_none_one_is_started(
    engine: FakeEngine, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = FakeCluster("kept-1", A, engine)

    @contextmanager
    def take_over(_: object, spec: ClusterSpec, say: object) -> Iterator[DockerCluster | None]:  # noqa: ARG001
        yield cast(DockerCluster, there) if spec == A else None

    monkeypatch.setattr(started, "take_over", take_over)
    source = KeptClusters(engine.connection, lines.append)
    with source.open(A, logs=logs()) as cluster:
        assert cluster.run == "kept-1"
        assert source.can_reuse(cluster, A)
    assert lines[0].startswith(f"using the kept cluster kept-1 ({A.describe()}), found in ")
    assert engine.runs == [], "nothing was started"
    with source.open(B, logs=logs()) as cluster:
        assert engine.runs == [cluster.run]
    assert engine.runs == []


def test_an_error_while_a_kept_cluster_is_used_starts_no_other(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def take_over(*_: object) -> Iterator[Any]:
        yield FakeCluster("kept-1", A, engine)

    monkeypatch.setattr(started, "take_over", take_over)
    monkeypatch.setattr(started, "running", lambda *_, **__: pytest.fail("started another one"))
    with pytest.raises(ZeroDivisionError), KeptClusters(engine.connection, str).open(A, logs=logs()):
        _ = 1 / 0


@pytest.fixture
def attaches(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def attach(client: FakeEngine, name: str, *, session: int | None, **given: object) -> Iterator[Any]:
        assert session in (None, 1)
        assert given == {"security": None, "addresses": None, "limit": 30}
        with client.running(ClusterSpec(attached={1: "combined"}), run=f"attach-{name}") as cluster:
            yield cluster

    monkeypatch.setattr(attached, "attached", attach)


def test_a_cluster_that_cannot_be_attached_is_tried_once(
    engine: FakeEngine, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    @contextmanager
    def attach(_: FakeEngine, name: str, **__: object) -> Iterator[Any]:
        tried.append(name)
        raise UsageError("it is in use")
        yield

    monkeypatch.setattr(attached, "attached", attach)
    source = AttachedClusters(engine.connection, lines.append, name="compose:shop")
    for _ in range(2):
        with pytest.raises(UsageError, match="in use") as refused, source.open(A, logs=logs()):
            pass
        assert refused.value.is_of_cluster
    assert tried == ["compose:shop"]


@pytest.mark.usefixtures("attaches")
def test_an_attached_cluster_serves_every_spec(engine: FakeEngine, lines: list[str]) -> None:
    source = AttachedClusters(engine.connection, lines.append, name="compose:shop")
    assert (source.takes_any_spec, source.may_keep, source.is_shared) == (True, False, False)
    source.check(B, [ISOLATE])
    with source.open(B, logs=logs()) as cluster:
        assert cluster.spec == ClusterSpec(attached={1: "combined"})
        assert source.can_reuse(cluster, A)
        fake(cluster).is_healthy = False
        assert not source.can_reuse(cluster, A)
    assert lines == ["attached to compose:shop: nodes 1, 2, 3, bootstrap 127.0.0.1:9092"]


def test_faults_that_change_a_cluster_are_refused_on_an_attached_one(engine: FakeEngine) -> None:
    source = AttachedClusters(engine.connection, str, name="compose:shop")
    with pytest.raises(UsageError, match=f"event {REMOVE.id!r}: remove-broker changes settings.*--attach"):
        source.check(A, [ISOLATE, REMOVE])


def test_workers_take_turns_on_an_attached_cluster_whatever_spec_they_ask_for(
    engine: FakeEngine, tmp_path: Path
) -> None:
    one, other = (
        AttachedClusters(engine.connection, str, name="compose:shop", session=session(tmp_path))
        for _ in range(2)
    )
    assert one.is_shared
    with one.turn(A, alone=False), other.turn(B, alone=False):
        pass
    held = session(tmp_path)
    with one.turn(A, alone=True), pytest.raises(BlockingIOError), held.locked("attached.use", 2 | 4):
        pass


def test_the_engine_is_connected_to_at_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    clients: list[SimpleNamespace] = []

    def connect() -> SimpleNamespace:
        clients.append(SimpleNamespace(closed=False))
        clients[-1].close = lambda client=clients[-1]: setattr(client, "closed", True)
        return clients[-1]

    monkeypatch.setattr("pytest_kafkacheck.experiment.clusters.pool.connect", connect)
    connection = EngineConnection()
    connection.close()
    assert clients == []
    assert connection.client is connection.client is clients[0]
    connection.close()
    connection.close()
    assert clients[0].closed
    assert connection.client is clients[1]


@pytest.mark.usefixtures("attaches")
def test_agents_end_with_the_turn_because_a_late_heal_would_undo_faults_of_the_next_worker(
    engine: FakeEngine, tmp_path: Path
) -> None:
    source = AttachedClusters(engine.connection, str, name="compose:shop", session=session(tmp_path))
    with source.open(A, logs=logs()) as cluster:
        with source.turn(A, alone=True):
            assert fake(cluster).agents_ended == 0
        assert fake(cluster).agents_ended == 1
    with source.turn(A, alone=True):
        pass
    assert fake(cluster).agents_ended == 1, "it is closed, and its agents have ended with it"
