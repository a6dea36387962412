"""The benchmark beside DuckDB has a plain query for each check that it measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import pytest

from analyzers.catalogue.registry import CHECKS
from benchmarks import (
    copy_histories,
    grouped_histories,
    pipeline_histories,
    queue_histories,
    reader_histories,
)
from benchmarks.analysis import FACTS, KINDS
from benchmarks.grouped_histories import GroupedShape
from benchmarks.plain import QUERIES
from benchmarks.transfer_histories import KIND, TransferShape


class Shape(Protocol):
    def expected(self) -> Mapping[str, int]: ...


SHAPES: Mapping[str, tuple[Collection[str], Shape]] = {
    "copies": (copy_histories.KINDS, copy_histories.CopyShape(records=2_000_000, planted=1)),
    "groups": (grouped_histories.KINDS, GroupedShape(records=2_000_000, planted=1)),
    "pipelines": (pipeline_histories.KINDS, pipeline_histories.PipelineShape(records=2_000_000, planted=1)),
    "queues": (queue_histories.KINDS, queue_histories.QueueShape(records=2_000_000, planted=1)),
    "readers": (reader_histories.KINDS, reader_histories.ReaderShape(records=2_000_000, planted=1)),
    "transfers": ([KIND], TransferShape(records=2_000_000, planted=1)),
}
"""By kind of history: the anomalies that are planted, and a shape."""


def test_every_check_has_a_query() -> None:
    assert QUERIES.keys() == {check.name for check in CHECKS if check.over in FACTS}


@pytest.mark.parametrize("kind", SHAPES)
def test_every_planted_anomaly_has_a_query(kind: str) -> None:
    planted, shape = SHAPES[kind]
    assert KINDS[kind].queries.keys() == {*planted} == shape.expected().keys()
    assert {*planted} <= {check.name for check in CHECKS}
