"""Repeatedly: bad example applications are found, and the right ones are valid under the same faults.

KAFKACHECK_APPLICATION_RUNS sets how often each is run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nemesis.event import Event
from pytest_kafkacheck import isolate, kill
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.pipeline import Pipeline

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("repeated-applications"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
STREAMS = "streams"

RUNS = int(os.environ.get("KAFKACHECK_APPLICATION_RUNS", "10"))

CRASHES: tuple[Event, ...] = (
    kill("app", after="in-flight:app:0", lasting=1),
    kill("app", after="in-flight:app:0 from 10", lasting=1),
)

CRASH_AND_CUT: tuple[Event, ...] = (
    kill("app", after="in-flight:app:0", lasting=1),
    isolate("app:0", after="in-flight:app:0 from 9", lasting=9),
)
"""The session of the instance that is cut expires, so that the other one gets its partitions."""

WORK = "0.5"
"""Seconds of work per batch, so that the crash comes in the middle of one."""

BAD = {
    "hasty": ("hasty.py", "at-least-once", CRASHES, "missing-output"),
    "not idempotent": ("copier.py", "exactly-once", CRASHES, "duplicate-output"),
    "out of order": ("parallel.py", "order-per-key", CRASHES, "reordered-output"),
}

RIGHT = {
    "kafka-python, at least once": ("copier.py", "at-least-once"),
    "kafka-python, in order": ("copier.py", "order-per-key"),
    "confluent-kafka, at least once": ("copier_confluent.py", "at-least-once"),
    "confluent-kafka, exactly once": ("exactly_once.py", "exactly-once"),
    "Kafka Streams, exactly once": (STREAMS, "exactly-once"),
}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    folder = Path(os.environ.get("KAFKACHECK_KEPT_RUNS") or tmp_path_factory.mktemp("runs"))
    with Harness(folder, say=lambda line: sys.stdout.write(f"{line}\n")) as harness:
        yield harness


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], list[str]]:
    """Returns the command of the application in Java, built at the first call."""
    built: list[Path] = []

    def command() -> list[str]:
        if shutil.which("mvn") is None:
            pytest.skip("Maven (mvn) is not installed, which builds examples/streams_copier")
        if not built:
            folder = tmp_path_factory.mktemp("streams_copier")
            build = ["mvn", "--quiet", "--batch-mode", f"-Dto={folder}", "package"]
            subprocess.run(build, cwd=EXAMPLES / "streams_copier", check=True)
            built.append(folder)
        classes = f"{built[0]}/streams-copier.jar:{built[0]}/libs/*"
        return ["java", "-Xmx128m", "-cp", classes, "StreamsCopier"]

    return command


@pytest.fixture
def pipeline(streams: Callable[[], list[str]]) -> Callable[..., Pipeline]:
    def made(application: str, guarantee: Any) -> Pipeline:
        is_java = application == STREAMS
        program = streams() if is_java else [sys.executable, str(EXAMPLES / "applications" / application)]
        more = [] if is_java or application == "parallel.py" else [WORK]
        return Pipeline(
            source="orders",
            sink="invoices",
            command=[*program, "{bootstrap}", "{source}", "{sink}", "{group}", "{client}", *more],
            guarantee=guarantee,
            instances=2,
            keys=4,
            restarts=20,
            quiet=20,
            topic_config={"min.insync.replicas": 2},
        )

    return made


@pytest.mark.parametrize("number", range(RUNS))
@pytest.mark.parametrize("name", BAD)
def test_a_bad_application_is_found(
    harness: Harness, pipeline: Callable[..., Pipeline], name: str, number: int
) -> None:
    application, guarantee, faults, anomaly = BAD[name]
    workload = pipeline(application, guarantee)
    run = harness.run(Experiment(name=f"bad-{name}-{number}", workload=workload, faults=faults))
    run.assert_invalid(anomaly)
    assert [each.anomaly for each in run.verdict.findings] == [anomaly], run.text()


@pytest.mark.parametrize("number", range(RUNS))
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_application_is_valid(
    harness: Harness, pipeline: Callable[..., Pipeline], name: str, number: int
) -> None:
    workload = pipeline(*RIGHT[name])
    run = harness.run(
        Experiment(name=f"right-{name}-{number}", workload=workload, faults=CRASH_AND_CUT, cooldown=6)
    )
    run.assert_valid()
