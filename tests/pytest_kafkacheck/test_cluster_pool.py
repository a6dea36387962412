"""The pool of clusters: one open cluster, nested uses, and which clusters outlive the session."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import pytest

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.clusters.pool import ClusterPool, Keep
from tests.support.fake_clusters import A, B, FakeEngine, fake, fake_engine, logs


class Source:
    """A source that logs what the pool asks of it. Its three properties are set by tests."""

    def __init__(self, engine: FakeEngine, *, takes_any_spec: bool, is_shared: bool, may_keep: bool) -> None:
        self.takes_any_spec, self.is_shared, self.may_keep = takes_any_spec, is_shared, may_keep
        self.turns: list[tuple[ClusterSpec, bool]] = []
        self.cleaned: list[str] = []
        self._engine = engine

    def check(self, spec: ClusterSpec, events: object = ()) -> None:  # noqa: ARG002 - as the protocol has it
        if spec.attached is not None:
            raise UsageError("not this spec")

    def turn(self, spec: ClusterSpec, *, alone: bool) -> AbstractContextManager[None]:
        self.turns.append((spec, alone))
        return nullcontext()

    def can_reuse(self, cluster: DockerCluster, spec: ClusterSpec) -> bool:
        return cluster.healthy() and (self.takes_any_spec or cluster.spec == spec)

    @contextmanager
    def open(self, spec: ClusterSpec, **_: object) -> Iterator[DockerCluster]:
        with self._engine.running(A if self.takes_any_spec else spec) as cluster:
            yield cluster

    def clean_up(self, cluster: DockerCluster) -> None:
        self.cleaned.append(cluster.run)
        self._engine.remove_unless_kept(cluster.run)


POOLS: list[ClusterPool] = []


@pytest.fixture(autouse=True)
def earlier_handlers() -> Iterator[None]:
    """Restored when a test ends. A pool that is not closed does that whenever it is collected, in another test."""
    yield
    while POOLS:
        POOLS.pop()._termination.close()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    return fake_engine(monkeypatch)


def pool_of(
    engine: FakeEngine,
    *,
    keep: Keep = "never",
    takes_any_spec: bool = False,
    is_shared: bool = False,
    may_keep: bool = True,
) -> tuple[ClusterPool, Source]:
    source = Source(engine, takes_any_spec=takes_any_spec, is_shared=is_shared, may_keep=may_keep)
    POOLS.append(ClusterPool(source, keep=keep))
    return POOLS[-1], source


def use(pool: ClusterPool, spec: ClusterSpec) -> str:
    """Use a cluster once; which one it was."""
    with pool.cluster(spec, logs=logs()) as cluster:
        return cluster.run


def test_a_cluster_serves_until_another_spec_is_asked_for_or_it_is_not_healthy(engine: FakeEngine) -> None:
    pool, source = pool_of(engine)
    assert [use(pool, spec) for spec in (A, A, B)] == ["run-0", "run-0", "run-0"]
    assert engine.removed == ["run-0"], "that of spec A, before the one of spec B was started"
    with pool.cluster(B, logs=logs()) as cluster:
        fake(cluster).is_healthy = False
    use(pool, B)
    assert engine.removed == ["run-0", "run-0"]
    assert [spec for spec, _ in source.turns] == [A, A, B, B, B]
    pool.close()
    pool.close()
    assert engine.runs == []
    assert source.cleaned == ["run-0"] * 3


@pytest.mark.parametrize("alone", [False, True])
def test_one_test_may_use_its_cluster_twice_without_waiting_for_itself(
    engine: FakeEngine, alone: bool
) -> None:
    pool, source = pool_of(engine, is_shared=True)
    with pool.cluster(A, logs=logs(), alone=alone) as outer, pool.cluster(A, logs=logs()) as inner:
        assert inner is outer
    with pool.cluster(A, logs=logs(), alone=True), pool.cluster(A, logs=logs(), alone=True):
        pass
    assert source.turns == [(A, alone), (A, True)]
    assert use(pool, B), "after the block another cluster may be used"


def test_one_test_has_one_cluster(engine: FakeEngine) -> None:
    pool, _ = pool_of(engine)
    with (
        pool.cluster(A, logs=logs()),
        pytest.raises(UsageError, match=r"has a cluster of 3 brokers.*asks for one of 1 broker"),
        pool.cluster(B, logs=logs()),
    ):
        pass


def test_a_source_that_takes_any_spec_serves_nested_uses_of_different_specs(engine: FakeEngine) -> None:
    pool, _ = pool_of(engine, takes_any_spec=True)
    with pool.cluster(A, logs=logs()) as outer, pool.cluster(B, logs=logs()) as inner:
        assert inner is outer


def test_faults_on_a_cluster_that_is_used_together_with_others_are_refused(engine: FakeEngine) -> None:
    shared, _ = pool_of(engine, is_shared=True)
    with (
        shared.cluster(A, logs=logs()),
        pytest.raises(UsageError, match=r"kafkacheck\(alone=True\)"),
        shared.cluster(A, logs=logs(), alone=True),
    ):
        pass
    ours, _ = pool_of(engine)
    with ours.cluster(A, logs=logs()), ours.cluster(A, logs=logs(), alone=True):
        pass


def test_the_actual_spec_is_that_of_the_cluster_there_is(engine: FakeEngine) -> None:
    any_spec, source = pool_of(engine, takes_any_spec=True)
    assert any_spec.actual_spec(B, logs=logs()) == A
    assert engine.runs == ["run-0"]
    assert use(any_spec, B) == "run-0", "the cluster that was opened serves the experiment as well"
    assert source.turns == [(B, False), (B, False)]
    started, source = pool_of(engine)
    assert started.actual_spec(B, logs=logs()) == B
    assert source.turns == [], "to know the spec, no cluster is started"


def test_a_refused_spec_leaves_the_open_cluster_and_the_pool_as_they_were(engine: FakeEngine) -> None:
    pool, _ = pool_of(engine)
    use(pool, A)
    with (
        pytest.raises(UsageError, match="not this spec"),
        pool.cluster(ClusterSpec(attached={1: "combined"}), logs=logs()),
    ):
        pass
    assert engine.removed == []
    assert use(pool, A) == "run-0"


@pytest.mark.parametrize(
    ("keep", "failures", "expected"),
    [
        ("never", [True, False], set()),
        ("failed", [False, False], set()),
        ("failed", [True, False], {0}),
        ("failed", [True, True, False], {1}),
        ("always", [False, False], {1}),
        ("always", [True, False], {0, 1}),
        ("always", [False, True], {1}),
    ],
)
def test_which_clusters_are_kept(
    engine: FakeEngine, keep: Keep, failures: list[bool], expected: set[int]
) -> None:
    """Each test uses a cluster of its own; `expected` are the positions of the tests whose clusters stay."""
    pool, _ = pool_of(engine, keep=keep)
    engine.runs.append("of another session")
    runs = []
    for number, has_failed in enumerate(failures):
        with pool.cluster(ClusterSpec(heap_mb=256 + number), logs=logs()) as cluster:
            fake(cluster).run = f"cluster-{number}"
            engine.runs[-1] = f"cluster-{number}"
            runs.append(cluster.run)
        pool.has_failed |= has_failed
    pool.close()
    assert engine.kept & set(engine.runs) == {runs[position] for position in expected}
    texts = [f"reach {runs[position]}" for position in sorted(expected)]
    assert pool.kept == ("\n".join(texts) or None)


def test_a_cluster_that_was_kept_before_is_not_removed_for_a_later_failure(engine: FakeEngine) -> None:
    pool, _ = pool_of(engine, keep="failed")
    taken_over = use(pool, A)
    engine.kept.add(taken_over)
    pool.has_failed = True
    pool.drop()
    assert not pool.has_failed
    use(pool, B)
    pool.has_failed = True
    pool.close()
    assert engine.removed == []
    assert pool.kept is not None
    assert taken_over in pool.kept


def test_a_source_may_refuse_to_keep(engine: FakeEngine) -> None:
    pool, _ = pool_of(engine, keep="always", may_keep=False)
    use(pool, A)
    pool.has_failed = True
    pool.close()
    assert (engine.kept, pool.kept, pool.has_failed) == (set(), None, False)


def test_the_second_layer_cleans_up_when_the_first_is_interrupted(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, source = pool_of(engine)
    with pool.cluster(A, logs=logs()) as cluster:

        def interrupted() -> None:
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(cluster, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.drop()
    assert source.cleaned == ["run-0"]
    assert engine.runs == []


def test_a_start_that_fails_leaves_no_use_behind(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, source = pool_of(engine)

    def fail(*_: object, **__: object) -> AbstractContextManager[DockerCluster]:
        raise InfrastructureError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(source, "open", fail)
        with pytest.raises(InfrastructureError), pool.cluster(A, logs=logs()):
            pass
    assert use(pool, B) == "run-0"


def test_an_interrupted_start_whose_clean_up_fails_ends_as_an_interrupt(engine: FakeEngine) -> None:
    pool, source = pool_of(engine)

    @contextmanager
    def interrupted(*_: object, **__: object) -> Iterator[DockerCluster]:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            raise InfrastructureError("the topic could not be deleted")
        yield

    source.open = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        use(pool, A)
    pool.close()
