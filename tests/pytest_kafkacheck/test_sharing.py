"""Who may use a shared cluster when: together, or alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment import sharing
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.sharing import Shared

SPEC, OTHER = ClusterSpec(), ClusterSpec(brokers=1)


@pytest.mark.parametrize(
    ("first", "second", "spec", "together"),
    [
        (False, False, SPEC, True),
        (True, False, SPEC, False),
        (False, True, SPEC, False),
        (True, True, SPEC, False),
        (True, True, OTHER, True),
    ],
)
def test_faults_are_alone_and_others_together(
    tmp_path: Path, first: bool, second: bool, spec: ClusterSpec, together: bool
) -> None:
    shared = Shared(tmp_path, "s", 1)
    inside = threading.Event()

    def other() -> None:
        with shared.turn(spec, alone=second):
            inside.set()

    worker = threading.Thread(target=other)
    with shared.turn(SPEC, alone=first):
        worker.start()
        assert inside.wait(0.5) is together
    assert inside.wait(10)
    worker.join()


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    """With a shared cluster that needs no engine."""
    made = Harness(tmp_path, shared=Shared(tmp_path, "s", 1))

    def cluster_for(spec: ClusterSpec, **_: object) -> object:
        made._cluster = cast(Any, spec)
        return spec

    monkeypatch.setattr(made, "_cluster_for", cluster_for)
    yield made
    made._cluster = None
    made.close()


@pytest.mark.parametrize("alone", [False, True])
def test_one_test_may_use_its_cluster_twice(harness: Harness, tmp_path: Path, alone: bool) -> None:
    """Without waiting for itself."""
    with harness.cluster(SPEC, logs=tmp_path, alone=alone), harness.cluster(SPEC, logs=tmp_path) as again:
        assert again == cast(Any, SPEC)
    with harness.cluster(SPEC, logs=tmp_path, alone=True), harness.cluster(SPEC, logs=tmp_path, alone=True):
        pass
    with harness.cluster(OTHER, logs=tmp_path) as other:
        assert other == cast(Any, OTHER)


def test_one_test_cannot_have_two_clusters_or_break_what_it_shares(harness: Harness, tmp_path: Path) -> None:
    with harness.cluster(SPEC, logs=tmp_path):
        with (
            pytest.raises(UsageError, match="has a cluster of 3 brokers"),
            harness.cluster(OTHER, logs=tmp_path),
        ):
            pass
        with (
            pytest.raises(UsageError, match="alone=True"),
            harness.cluster(SPEC, logs=tmp_path, alone=True),
        ):
            pass


class Engine:
    """The parts of an engine that sharing asks for, and the names of runs that were removed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *runs: str, roomy: bool = False) -> None:
        self.runs, self.removed = list(runs), list[str]()

        def require(*_: object) -> None:
            if not roomy:
                raise InfrastructureError("no memory")

        monkeypatch.setattr(sharing, "require_memory", require)
        monkeypatch.setattr(reaper, "parts_by_run", lambda _: dict.fromkeys(self.runs, ()))
        monkeypatch.setattr(reaper, "remove_run", lambda _, run: self.removed.append(run))


@pytest.mark.parametrize(
    ("used", "roomy", "removed"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_where_memory_is_short_idle_clusters_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: bool, roomy: bool, removed: bool
) -> None:
    mine, another = Shared(tmp_path, "s", 1), Shared(tmp_path, "t", 1)
    names = [mine._run(SPEC), mine._run(OTHER), another._run(OTHER)]
    engine = Engine(monkeypatch, *names, roomy=roomy)
    with mine.turn(OTHER, alone=False) if used else nullcontext():
        mine._make_room(None, SPEC)
    assert engine.removed == ([mine._run(OTHER)] if removed else [])


def test_a_start_that_was_not_finished_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Shared(tmp_path, "s", 1)
    begun: list[str] = []

    @contextmanager
    def running(*_: object, run: str, **__: object) -> Iterator[Any]:
        begun.append(run)
        if len(begun) == 1:
            raise InfrastructureError("killed in the middle")
        yield SimpleNamespace(close=lambda: None)

    def reattach(*_: object) -> Any:
        if len(begun) == 3:
            return SimpleNamespace(close=lambda: None)
        raise InfrastructureError("not whole")

    Engine(monkeypatch, shared._run(SPEC))
    monkeypatch.setattr(sharing, "running", running)
    monkeypatch.setattr(sharing, "reattach", reattach)
    monkeypatch.setattr(sharing.lifecycle, "repair", lambda _: None)
    with pytest.raises(InfrastructureError, match="killed"), shared.cluster(None, SPEC, logs=tmp_path):
        pass
    # The second is a whole start, the third finds a cluster that is broken, the fourth one that is not.
    for number in (2, 3, 3):
        with shared.cluster(None, SPEC, logs=tmp_path):
            assert len(begun) == number
