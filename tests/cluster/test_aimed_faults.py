"""Faults that are aimed at moments of milliseconds, on real brokers: the history shows that they were hit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pytest_kafkacheck import Pipeline, kill, pause
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.nightly]

APPLICATIONS = Path(__file__).parents[2] / "examples" / "applications"

Execute = Callable[[Experiment], Run]


def pipeline(application: str, *more: str, **values: Any) -> Pipeline:
    placeholders = ("{bootstrap}", "{source}", "{sink}", "{group}", "{client}")
    command = [sys.executable, str(APPLICATIONS / application), *placeholders, *more]
    return Pipeline(source="orders", sink="invoices", command=command, restarts=20, **values)


def evidence(run: Run) -> list[Any]:
    """Of the injections, in their order."""
    table = pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read()
    rows = sorted(
        (row for row in table.to_pylist() if row["f"].endswith("-client")), key=lambda row: row["invoked"]
    )
    values = [json.loads(row["value"]) for row in rows]
    return [value["evidence"] for value in values if value["stage"] == "inject"]


def count(run: Run, anomaly: str) -> int:
    return sum(finding.count for finding in run.verdict.findings if finding.anomaly == anomaly)


def test_positions_ahead_of_outputs_are_outputs_that_get_lost(kafkacheck: Execute) -> None:
    """The application commits first. Each input between its last output and its position has no output at the end."""
    faults = [kill("app:0", after="committed-ahead:app:0", lasting=0.5)]
    run = kafkacheck(Experiment(workload=pipeline("hasty.py"), faults=faults, cooldown=0.5, expect="invalid"))
    run.assert_invalid("missing-output")
    (found,) = evidence(run)
    assert found["met"]["frozen"]
    # Of one partition; it may have committed several at once.
    assert count(run, "missing-output") >= found["met"]["count"] > 0


def test_outputs_without_their_commit_are_written_twice(kafkacheck: Execute) -> None:
    faults = [kill("app:0", after="uncommitted-output:app:0 within 90", lasting=0.5)] * 3
    workload = pipeline("copier.py", guarantee="exactly-once")
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6, expect="invalid"))
    run.assert_invalid("duplicate-output")
    met = [each["met"] for each in evidence(run)]
    assert len(met) == 3
    assert all(each["frozen"] and each["input"]["offset"] >= each["position"] for each in met)
    assert count(run, "duplicate-output") >= max(each["count"] for each in met)


def test_transactions_are_met_while_they_are_open(kafkacheck: Execute) -> None:
    pytest.importorskip("confluent_kafka")
    faults = [kill("app:0", after="open-transaction:app:0 within 90", lasting=0.5)] * 3
    workload = pipeline("exactly_once.py", guarantee="exactly-once")
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6))
    run.assert_valid()
    assert all(each["met"]["frozen"] for each in evidence(run))


@pytest.mark.parametrize(
    ("application", "moment"),
    [
        ("copier.py", "committed-ahead"),
        ("exactly_once.py", "committed-ahead"),
        ("exactly_once.py", "uncommitted-output"),
        ("hasty.py", "open-transaction"),
    ],
)
def test_moments_that_an_application_never_has(kafkacheck: Execute, application: str, moment: str) -> None:
    pytest.importorskip("confluent_kafka")
    faults = [pause("app:0", after=f"{moment}:app:0 within 20", lasting=1)]
    run = kafkacheck(Experiment(workload=pipeline(application), faults=faults, expect="unknown"))
    assert run.result == "unknown"
    (found,) = evidence(run)
    assert found["trigger"] == f"{moment}:app:0 did not come within 20 s"


def test_a_rebalance_is_met_as_it_begins(kafkacheck: Execute) -> None:
    faults = [
        pause("app:0", after="revocation:app:0 within 90", lasting=1),
        kill("app:1", at=6, lasting=1),
    ]
    run = kafkacheck(Experiment(workload=pipeline("copier.py", instances=2), faults=faults, cooldown=6))
    run.assert_valid()
    (met,) = (each["met"] for each in evidence(run) if "met" in each)
    assert met["partitions"]
