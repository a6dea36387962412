"""The benchmark beside DuckDB has a plain query for each check that it measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pytest

from analyzers.catalogue.registry import CHECKS
from benchmarks.administered_histories import AdministeredShape
from benchmarks.analysis import FACTS, KINDS, UNMEASURED
from benchmarks.coordinated_histories import CoordinatedShape
from benchmarks.copy_histories import CopyShape
from benchmarks.grouped_histories import GroupedShape
from benchmarks.pipeline_histories import PipelineShape
from benchmarks.plain import QUERIES
from benchmarks.queue_histories import QueueShape
from benchmarks.reader_histories import ReaderShape
from benchmarks.replica_histories import ReplicaShape
from benchmarks.transfer_histories import TransferShape


class Shape(Protocol):
    def expected(self) -> Mapping[str, int]: ...


SHAPES: Mapping[str, Shape] = {
    "administrators": AdministeredShape(records=1, planted=1),
    "coordinators": CoordinatedShape(records=1, planted=1),
    "copies": CopyShape(records=2_000_000, planted=1),
    "groups": GroupedShape(records=2_000_000, planted=1),
    "pipelines": PipelineShape(records=2_000_000, planted=1),
    "queues": QueueShape(records=2_000_000, planted=1),
    "readers": ReaderShape(records=2_000_000, planted=1),
    "replicas": ReplicaShape(records=1, planted=1),
    "transfers": TransferShape(records=2_000_000, planted=1),
}
"""By kind of history; that of logs has queries for anomalies that it does not plant, too."""


def test_every_check_of_logs_has_a_query() -> None:
    assert QUERIES.keys() == {check.name for check in CHECKS if check.over in FACTS}


def test_every_check_has_a_query() -> None:
    measured = {name for kind in KINDS.values() for name in kind.queries}
    assert measured == {check.name for check in CHECKS} - UNMEASURED


@pytest.mark.parametrize("kind", SHAPES)
def test_every_planted_anomaly_has_a_query(kind: str) -> None:
    assert KINDS[kind].queries.keys() == SHAPES[kind].expected().keys()


def test_every_kind_but_that_of_logs_is_examined() -> None:
    assert {"logs", *SHAPES} == KINDS.keys()
