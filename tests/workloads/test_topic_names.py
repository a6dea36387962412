"""Schedules name topics without the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from pytest_kafkacheck import Experiment, kill, recreate_topic
from pytest_kafkacheck.errors import UsageError
from workloads.copying import Copy
from workloads.transactions import Transactions
from workloads.workload import PROBE, Topic, WorkerSpec, Workload, short_topics


@dataclass(frozen=True)
class Named(Workload):
    """forms: of the names of its topics."""

    forms: Sequence[str]

    def topics(self, run: str) -> tuple[Topic, ...]:
        names = [form.format(run=run) for form in self.forms]
        return tuple(Topic(name=name, partitions=1, replication_factor=1) for name in names)

    def workers(self) -> tuple[WorkerSpec, ...]:
        return (WorkerSpec(role=PROBE, process=0),)


@pytest.mark.parametrize(
    ("form", "short"),
    [
        ("orders-{run}", "orders"),
        ("{run}.orders", "orders"),
        ("eu_{run}_orders", "eu_orders"),
        ("orders{run}", "orders"),
        ("my-own.orders-{run}", "my-own.orders"),
        ("{run}", "topic"),
    ],
)
def test_a_short_name_is_the_name_without_the_run(form: str, short: str) -> None:
    assert short_topics(Named([form]), "a1") == {short: form.format(run="a1")}


def test_topics_that_differ_only_around_the_run_are_refused() -> None:
    with pytest.raises(
        ValueError, match=re.escape("Named.topics gave log-a1, a1-log: expected names that differ")
    ):
        short_topics(Named(["log-{run}", "{run}-log"]), "a1")
    with pytest.raises(UsageError, match="expected names that differ without the run"):
        Experiment(workload=Named(["log-{run}", "{run}-log"]))


def test_each_topic_of_a_workload_is_a_target_by_its_short_name() -> None:
    assert dict(Experiment(workload=Copy(partitions=2)).topology.topics) == {"source": 2, "output": 2}
    Experiment(
        workload=Copy(partitions=2),
        faults=[
            kill("leader:output-1", at=1, lasting=1),
            kill("leader", after="isr-shrink:output-0", lasting=1),
        ],
    )
    Experiment(workload=Transactions(topics_written=2), faults=[recreate_topic("topic:transactions-1", at=1)])
    for target in ("leader:output-check-0", "leader:output-2"):
        with pytest.raises(
            UsageError, match=r"allowed: (source, output, __consumer_offsets, __transaction_state|0 to 1)$"
        ):
            Experiment(workload=Copy(partitions=2), faults=[kill(target, at=1, lasting=1)])
    with pytest.raises(UsageError, match=r"no topic output-check; allowed: source, output"):
        Experiment(workload=Copy(), faults=[kill("one", after="isr-full:output-check-0", lasting=1)])
