"""The faults of scenarios, for different numbers of replicas and brokers."""

from __future__ import annotations

import pytest

from pytest_kafkacheck.matrix.scenarios import Layout, all_scenarios


@pytest.mark.parametrize(("replication", "nodes"), [(1, "1"), (2, "1,2"), (3, "1,2,3")])
def test_brokers_without_replicas_keep_their_power(replication: int, nodes: str) -> None:
    (event,) = all_scenarios()["power-loss"].faults(Layout(replication=replication, brokers=3))
    assert str(event.target) == nodes
