"""The benchmark beside DuckDB has a plain query for each check that it measures."""

from __future__ import annotations

from analyzers.catalogue.registry import CHECKS
from benchmarks import plain_groups, plain_replicas
from benchmarks.analysis import FACTS
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


def test_every_planted_anomaly_of_replicas_has_a_query() -> None:
    planted = ReplicaShape(records=1, planted=1).expected()
    assert plain_replicas.QUERIES.keys() == planted.keys() <= {check.name for check in CHECKS}
