"""A history recorded on real brokers, unharmed and with one anomaly of each kind planted into it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzers.catalogue.registry import ANOMALIES, CATALOGUE
from analyzers.judge.analyze import analyze
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from tests.support.tampered_history import PLANTS, Recorded
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly]


@pytest.fixture(scope="module")
def verdicts(harness: Harness, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    folder = tmp_path_factory.mktemp("planted")
    experiment = Experiment(workload=AppendLog(partitions=1, rate=100), duration=3, cooldown=1)
    run = harness.run(experiment)
    assert _topic_events(Recorded(run.path).operations) == ["created", "deleted"]
    homes = [Recorded(run.path).write(folder / "unharmed", "unharmed")]
    for anomaly, plant in PLANTS.items():
        recorded = Recorded(run.path)
        plant(recorded)
        homes.append(recorded.write(folder / anomaly, anomaly))
    return analyze(harness.spark.session(), homes)


def _topic_events(operations: list[dict[str, Any]]) -> list[str]:
    rows = sorted((row for row in operations if row["f"] == "topic"), key=lambda row: row["invoked"])
    values = [json.loads(row["value"]) for row in rows]
    assert len({each["id"] for each in values}) == 1
    assert all(each["partitions"] == 1 and each["replication_factor"] == 3 for each in values)
    assert all(each["config"]["min.insync.replicas"] for each in values)
    return [each["event"] for each in values]


def test_every_anomaly_of_such_a_workload_has_a_plant() -> None:
    """It has no transactions and no groups: those are planted in histories written by hand."""
    assert set(PLANTS) == {each.name for each in CATALOGUE if each.family in ("log", "sessions", "order")}


def test_unharmed_history_is_valid(verdicts: dict[str, Verdict]) -> None:
    assert (verdicts["unharmed"].result, verdicts["unharmed"].findings) == ("valid", ())


@pytest.mark.parametrize("anomaly", PLANTS)
def test_planted_anomaly_is_found(verdicts: dict[str, Verdict], anomaly: str) -> None:
    found = {finding.anomaly: finding for finding in verdicts[anomaly].findings}
    assert anomaly in found
    severity = ANOMALIES[anomaly].severity
    assert verdicts[anomaly].result == ("valid" if severity == "note" else severity)
