"""The benchmark beside DuckDB has a plain query for each check that it measures."""

from __future__ import annotations

import pytest

from analyzers.catalogue.registry import CHECKS
from benchmarks import plain_administrators, plain_coordinators, plain_groups, plain_replicas
from benchmarks.administered_histories import AdministeredShape
from benchmarks.analysis import FACTS
from benchmarks.coordinated_histories import CoordinatedShape
from benchmarks.grouped_histories import KINDS, GroupedShape
from benchmarks.plain import QUERIES
from benchmarks.replica_histories import ReplicaShape


def test_every_check_has_a_query() -> None:
    assert QUERIES.keys() == {check.name for check in CHECKS if check.over in FACTS}


def test_every_planted_anomaly_of_transactions_and_groups_has_a_query() -> None:
    assert (
        plain_groups.QUERIES.keys()
        == set(KINDS)
        == GroupedShape(records=2_000_000, planted=1).expected().keys()
    )
    assert set(KINDS) <= {check.name for check in CHECKS}


@pytest.mark.parametrize(
    ("shape", "queries"),
    [
        (AdministeredShape(records=1, planted=1), plain_administrators.QUERIES),
        (CoordinatedShape(records=1, planted=1), plain_coordinators.QUERIES),
        (ReplicaShape(records=1, planted=1), plain_replicas.QUERIES),
    ],
)
def test_every_planted_anomaly_of_what_brokers_report_has_a_query(
    shape: AdministeredShape | CoordinatedShape | ReplicaShape, queries: dict[str, str]
) -> None:
    assert queries.keys() == shape.expected().keys() <= {check.name for check in CHECKS}
