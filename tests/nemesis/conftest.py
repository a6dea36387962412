"""Fixtures: a fake cluster, and runs on it in fake time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.fake_cluster.cluster import FakeCluster
from tests.support.fake_cluster.manual_clock import ManualClock
from tests.support.fake_cluster.run import FakeRun


@pytest.fixture
def stop() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cluster(stop: ManualClock) -> FakeCluster:
    return FakeCluster(stop)


@pytest.fixture
def fake_run(cluster: FakeCluster, stop: ManualClock) -> FakeRun:
    return FakeRun(cluster, stop)


@pytest.fixture(scope="session")
def new_cluster() -> Callable[..., FakeCluster]:
    """For tests that need many, such as tests of properties."""
    return lambda **changes: FakeCluster(ManualClock(), **changes)


@pytest.fixture(scope="session")
def new_fake_run() -> Callable[..., FakeRun]:
    """For tests that need many, such as tests of properties."""

    def make(**changes: Any) -> FakeRun:
        stop = ManualClock()
        return FakeRun(FakeCluster(stop, **changes), stop)

    return make
