"""Repeatedly: random schedules on safe configurations are valid, and the unsafe half of the demo is invalid.

KAFKACHECK_RUNS sets how many schedules there are for `AppendLog`. Other workloads have an eighth of them each, and
the demo is run half as often. One schedule of four runs beside two busy processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nemesis.generate import Generated
from pytest_kafkacheck.cli.demo import experiments
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.admin import Admin
from workloads.append_log import AppendLog
from workloads.bank import Bank
from workloads.compacted import Compacted
from workloads.copying import Copy
from workloads.groups import Groups
from workloads.transactions import Transactions
from workloads.workload import Workload

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("repeated-runs"),
]

SAFE = {"min.insync.replicas": 2}

WORKLOADS: list[Workload] = [
    Transactions(topic_config=SAFE),
    Groups(topic_config=SAFE),
    Copy(topic_config=SAFE),
    Bank(topic_config=SAFE),
    Compacted(topic_config=SAFE),
    Admin(topic_config=SAFE),
]

RUNS = int(os.environ.get("KAFKACHECK_RUNS", "40"))


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    folder = Path(os.environ.get("KAFKACHECK_KEPT_RUNS") or tmp_path_factory.mktemp("runs"))
    with Harness(folder, say=lambda line: sys.stdout.write(f"{line}\n")) as harness:
        yield harness


@pytest.fixture
def _load(seed: int) -> Iterator[None]:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2) if seed % 4 == 3]
    yield
    for each in busy:
        each.kill()
        each.wait(timeout=10)


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.usefixtures("_load")
def test_a_random_schedule_on_a_safe_configuration_is_valid(harness: Harness, seed: int) -> None:
    run = harness.run(
        Experiment(
            name=f"safe-{seed}",
            workload=AppendLog(partitions=3, acks="all", rate=1000, topic_config=SAFE),
            faults=Generated(seed=seed, length=25, events=5, lasting=(2, 6)),
        )
    )
    run.assert_valid()


@pytest.mark.parametrize("number", range(RUNS // 8))
@pytest.mark.parametrize(
    "workload",
    WORKLOADS,
    ids=lambda workload: type(workload).__name__,
)
def test_a_random_schedule_with_another_workload_is_valid(
    harness: Harness, workload: Workload, number: int
) -> None:
    """Each workload has schedules of its own, which also hit its clients, groups and transactional ids."""
    seed = 1000 * WORKLOADS.index(workload) + number
    run = harness.run(
        Experiment(
            name=f"{type(workload).__name__}-{seed}",
            workload=workload,
            faults=Generated(seed=seed, length=25, events=5, lasting=(2, 6), clients=True),
            # A transaction without an answer is given up after 10 s, and a group waits 6 s for a lost member.
            cooldown=14 if isinstance(workload, (Copy, Bank, Transactions, Groups)) else 3,
        )
    )
    run.assert_valid()


@pytest.mark.parametrize("number", range(RUNS // 2))
def test_the_unsafe_half_of_the_demo_is_invalid(harness: Harness, number: int) -> None:
    run = harness.run(replace(experiments()[0], name=f"demo-{number}"))
    run.assert_invalid("lost-write")
    first = "\n".join(run.text().splitlines()[:12])
    assert "is cut off from the other brokers" in first, run.text()
    assert " leads log-" in first, run.text()
    assert run.verdict.causes[0].kind == "truncation", run.text()
    assert "   why    acks=1 is answered " in run.text(), run.text()
