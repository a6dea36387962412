"""An application of your own under faults: kafkacheck gives it records, injects faults, and judges its output.

kafkacheck knows nothing of the application but its command. Each order holds a token, which the invoice repeats. The
applications in ``examples/applications`` use kafka-python and confluent-kafka, that in ``examples/streams_copier``
Kafka Streams; any language will do.

Run it: ``pytest examples/test_pipeline.py``
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck import Experiment, Pipeline, cpu, isolate, kill, memory, pause, stop

EXAMPLES = Path(__file__).parent
APPLICATIONS = EXAMPLES / "applications"
ARGUMENTS = ["{bootstrap}", "{source}", "{sink}", "{group}", "{client}"]


def pipeline(*command: str, **values) -> Pipeline:
    """Instances that end by themselves, as when a broker does not answer them, are started again."""
    application, *more = command
    program = (
        [sys.executable, str(APPLICATIONS / application)] if application.endswith(".py") else [application]
    )
    return Pipeline(
        source="orders",
        sink="invoices",
        command=[*program, *more],
        group="invoicing",
        topic_config={"min.insync.replicas": 2},
        restarts=20,
        **{"instances": 2, **values},
    )


def test_each_order_has_an_invoice(kafkacheck):
    """Both instances are killed at once, in the middle of their work."""
    workload = pipeline("copier.py", *ARGUMENTS, "0.3")
    run = kafkacheck(Experiment(workload=workload, faults=[kill("app", after="in-flight:app:0", lasting=1)]))
    run.assert_valid()


FAULTS = [
    kill("app:0", after="in-flight:app:0", lasting=2),
    isolate("leader:orders-0", at=6, lasting=6),
    pause("app:1", after="in-flight:app:1 from 14", lasting=8),
    kill("coordinator:invoicing", at=24, lasting=5),
    stop("app:1", after="in-flight:app:1 from 32", lasting=6),
]


@pytest.mark.nightly
@pytest.mark.parametrize("application", ["copier.py", "copier_confluent.py"])
def test_each_order_has_an_invoice_whatever_fails(kafkacheck, application):
    workload = pipeline(application, *ARGUMENTS)
    kafkacheck(Experiment(workload=workload, faults=FAULTS, cooldown=6)).assert_valid()


@pytest.mark.nightly
def test_the_invoices_of_a_customer_stay_in_order(kafkacheck):
    workload = pipeline("copier.py", *ARGUMENTS, guarantee="order-per-key")
    kafkacheck(Experiment(workload=workload, faults=FAULTS, cooldown=6)).assert_valid()


@pytest.mark.nightly
def test_each_order_has_exactly_one_invoice_whatever_fails(kafkacheck):
    workload = pipeline("exactly_once.py", *ARGUMENTS, guarantee="exactly-once")
    kafkacheck(Experiment(workload=workload, faults=FAULTS, cooldown=6)).assert_valid()


@pytest.mark.nightly
def test_each_order_has_an_invoice_without_network_time_and_memory(kafkacheck):
    """The application is cut from all brokers, then gets little processor time, then little memory."""
    faults = [
        isolate("app:0", after="in-flight:app:0", lasting=8),
        cpu("app", at=12, lasting=4, cores=0.02),
        memory("app:1", at=18, lasting=6, spare_mb=0),
    ]
    workload = pipeline("copier.py", *ARGUMENTS)
    kafkacheck(Experiment(workload=workload, faults=faults, cooldown=6)).assert_valid()


@pytest.fixture(scope="session")
def streams_copier(tmp_path_factory):
    """The folder in which Maven has built it."""
    if shutil.which("mvn") is None:
        pytest.skip("Maven (mvn) is not installed, which builds examples/streams_copier")
    folder = tmp_path_factory.mktemp("streams_copier")
    build = ["mvn", "--quiet", "--batch-mode", f"-Dto={folder}", "package"]
    subprocess.run(build, cwd=EXAMPLES / "streams_copier", check=True)
    return folder


@pytest.mark.nightly
def test_each_order_has_exactly_one_invoice_by_kafka_streams(kafkacheck, streams_copier):
    classes = f"{streams_copier}/streams-copier.jar:{streams_copier}/libs/*"
    command = ["java", "-Xmx128m", "-cp", classes, "StreamsCopier", *ARGUMENTS]
    workload = pipeline(*command, guarantee="exactly-once", quiet=25)
    kafkacheck(Experiment(workload=workload, faults=FAULTS, cooldown=6)).assert_valid()


def is_count(key, inputs, outputs):
    """Each output is one more than the one before, and the last one is the number of the inputs."""
    counts = [int(each.value) for each in outputs]
    return counts == list(range(1, len(inputs) + 1)) or f"{counts[-3:]} at the end, of {len(inputs)} of {key}"


def counting(streams_copier, *more):
    """Counts in a state store of Kafka Streams."""
    classes = f"{streams_copier}/streams-copier.jar:{streams_copier}/libs/*"
    command = ["java", "-Xmx128m", "-cp", classes, "StreamsCounter", *ARGUMENTS, *more]
    return pipeline(*command, aggregate=is_count, quiet=25)


@pytest.mark.nightly
def test_counts_by_kafka_streams_are_right_whatever_fails(kafkacheck, streams_copier):
    """Instances restore the counts from the changelog topic of the state store."""
    faults = [
        isolate("leader:orders-0", at=8, lasting=6),
        kill("coordinator:invoicing", at=20, lasting=5),
        kill("app:0", at=35, lasting=2),
        kill("app", at=45, lasting=1),
    ]
    kafkacheck(Experiment(workload=counting(streams_copier), faults=faults, cooldown=6)).assert_valid()


@pytest.mark.nightly
def test_counts_without_a_changelog_begin_again_after_a_crash(kafkacheck, streams_copier):
    experiment = Experiment(
        workload=counting(streams_copier, "forgetful"),
        faults=[kill("app", at=10, lasting=1)],
        cooldown=6,
        expect="invalid",
    )
    kafkacheck(experiment).assert_invalid("wrong-aggregate")


def crash(workload: Pipeline) -> Experiment:
    return Experiment(
        workload=workload, faults=[kill("app", after="in-flight:app:0", lasting=1)], expect="invalid"
    )


@pytest.mark.nightly
def test_an_application_that_commits_first_loses_outputs(kafkacheck):
    run = kafkacheck(crash(pipeline("hasty.py", *ARGUMENTS, "0.5")))
    run.assert_invalid("missing-output")
    (finding,) = run.verdict.findings
    assert finding.anomaly == "missing-output"
    # Each example says who had the input, and which fault was at work before its partition went on.
    assert {example["owner"] for example in finding.examples} <= {"app:0", "app:1"}
    faults = {fault.partition(" (")[0] for example in finding.examples for fault in example["faults"]}
    assert faults == {"kill app"}


@pytest.mark.nightly
def test_an_application_that_starts_again_repeats_outputs(kafkacheck):
    """At least once is not exactly once."""
    run = kafkacheck(crash(pipeline("copier.py", *ARGUMENTS, "0.5", guarantee="exactly-once")))
    run.assert_invalid("duplicate-output")
    assert {finding.anomaly for finding in run.verdict.findings} == {"duplicate-output"}


@pytest.mark.nightly
def test_an_application_that_sets_orders_aside_changes_their_order(kafkacheck):
    workload = pipeline("parallel.py", *ARGUMENTS, guarantee="order-per-key", keys=4)
    run = kafkacheck(Experiment(workload=workload, duration=4, expect="invalid"))
    run.assert_invalid("reordered-output")
    assert {finding.anomaly for finding in run.verdict.findings} == {"reordered-output"}
