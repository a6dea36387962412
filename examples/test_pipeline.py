"""An application of your own under faults: kafkacheck gives it records, injects faults, and judges its output.

kafkacheck knows nothing of the application but its command. Each order holds a token, which the invoice repeats. The
applications in ``examples/applications`` use kafka-python; any language will do.

Run it: ``pytest examples/test_pipeline.py``
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_kafkacheck import Experiment, Pipeline, isolate, kill, pause, stop

APPLICATIONS = Path(__file__).parent / "applications"
ARGUMENTS = ["{bootstrap}", "{source}", "{sink}", "{group}"]


def pipeline(application: str, *arguments: str, **values) -> Pipeline:
    """Instances that end by themselves, as when a broker does not answer them, are started again."""
    return Pipeline(
        source="orders",
        sink="invoices",
        command=[sys.executable, str(APPLICATIONS / application), *ARGUMENTS, *arguments],
        group="invoicing",
        topic_config={"min.insync.replicas": 2},
        restarts=20,
        **{"instances": 2, **values},
    )


def test_each_order_has_an_invoice(kafkacheck):
    """Both instances are killed at once, in the middle of their work."""
    run = kafkacheck(Experiment(workload=pipeline("copier.py", "0.3"), faults=[kill("app", at=2, lasting=1)]))
    run.assert_valid()


FAULTS = [
    kill("app:0", at=2, lasting=2),
    isolate("leader:orders-0", at=6, lasting=6),
    pause("app:1", at=14, lasting=8),
    kill("coordinator:invoicing", at=24, lasting=5),
    stop("app:1", at=32, lasting=6),
]


@pytest.mark.nightly
def test_each_order_has_an_invoice_whatever_fails(kafkacheck):
    kafkacheck(Experiment(workload=pipeline("copier.py"), faults=FAULTS, cooldown=6)).assert_valid()


@pytest.mark.nightly
def test_the_invoices_of_a_customer_stay_in_order(kafkacheck):
    workload = pipeline("copier.py", guarantee="order-per-key")
    kafkacheck(Experiment(workload=workload, faults=FAULTS, cooldown=6)).assert_valid()


def crash(workload: Pipeline) -> Experiment:
    return Experiment(workload=workload, faults=[kill("app", at=3, lasting=1)], expect="invalid")


@pytest.mark.nightly
def test_an_application_that_commits_first_loses_outputs(kafkacheck):
    run = kafkacheck(crash(pipeline("hasty.py", "0.5")))
    run.assert_invalid("missing-output")
    assert {finding.anomaly for finding in run.verdict.findings} == {"missing-output"}


@pytest.mark.nightly
def test_an_application_that_starts_again_repeats_outputs(kafkacheck):
    """At least once is not exactly once."""
    run = kafkacheck(crash(pipeline("copier.py", "0.5", guarantee="exactly-once")))
    run.assert_invalid("duplicate-output")
    assert {finding.anomaly for finding in run.verdict.findings} == {"duplicate-output"}


@pytest.mark.nightly
def test_an_application_that_sets_orders_aside_changes_their_order(kafkacheck):
    workload = pipeline("parallel.py", guarantee="order-per-key", keys=4)
    run = kafkacheck(Experiment(workload=workload, duration=4, expect="invalid"))
    run.assert_invalid("reordered-output")
    assert {finding.anomaly for finding in run.verdict.findings} == {"reordered-output"}
