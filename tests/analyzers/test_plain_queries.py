"""The benchmark beside DuckDB has a plain query for each check that it measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from analyzers.catalogue.registry import CHECKS
from benchmarks import grouped_histories, pipeline_histories, queue_histories
from benchmarks.analysis import FACTS, KINDS
from benchmarks.grouped_histories import GroupedShape
from benchmarks.pipeline_histories import PipelineShape
from benchmarks.plain import QUERIES
from benchmarks.queue_histories import QueueShape

SHAPES: Mapping[str, tuple[Collection[str], GroupedShape | PipelineShape | QueueShape]] = {
    "groups": (grouped_histories.KINDS, GroupedShape(records=2_000_000, planted=1)),
    "pipelines": (pipeline_histories.KINDS, PipelineShape(records=2_000_000, planted=1)),
    "queues": (queue_histories.KINDS, QueueShape(records=2_000_000, planted=1)),
}
"""By kind of history: the anomalies that are planted, and a shape."""


def test_every_check_has_a_query() -> None:
    assert QUERIES.keys() == {check.name for check in CHECKS if check.over in FACTS}


@pytest.mark.parametrize("kind", SHAPES)
def test_every_planted_anomaly_has_a_query(kind: str) -> None:
    planted, shape = SHAPES[kind]
    assert KINDS[kind].queries.keys() == {*planted} == shape.expected().keys()
    assert {*planted} <= {check.name for check in CHECKS}
