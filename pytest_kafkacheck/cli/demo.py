"""The main job in one minute: the same fault, two settings, two verdicts."""

from __future__ import annotations

from collections.abc import Callable

from nemesis.api import isolate
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from workloads.append_log import AppendLog

FAULT = isolate("leader", at=3, lasting=10)
"""Long enough for the others to elect a new leader (about 3 s) while clients still reach the old one."""

LOSING = Experiment(
    name="demo-acks-1",
    workload=AppendLog(acks=1, partitions=1, rate=None, topic_config={"min.insync.replicas": 1}),
    faults=[FAULT],
    expect="invalid",
)

KEEPING = Experiment(
    name="demo-acks-all",
    workload=AppendLog(acks="all", partitions=1, rate=None, topic_config={"min.insync.replicas": 2}),
    faults=[FAULT],
)


def demo(harness: Harness, show: Callable[[str], None]) -> None:
    """Run both experiments, assert both verdicts, and sum up. Raises VerdictError when one is not as expected."""
    show(
        "One partition, three replicas. Its leader is cut off from the other brokers, not from its clients.\n"
    )
    show("1. Producers ask for acks=1: the leader alone acknowledges.")
    losing = harness.run(LOSING)
    show(losing.text() + "\n")
    losing.assert_invalid("lost-write")
    show("2. Producers ask for acks=all, min.insync.replicas=2: a second broker must have the record.")
    keeping = harness.run(KEEPING)
    show(keeping.text() + "\n")
    keeping.assert_valid()
    lost = next(each.count for each in losing.verdict.findings if each.anomaly == "lost-write")
    acknowledged = losing.verdict.exercised.acks
    kept = keeping.verdict.exercised.acks
    show(
        "What you saw: the isolated leader did not know that it had been replaced and went on acknowledging.\n"
        f"  acks=1                           invalid: {lost:,} of {acknowledged:,} acknowledged writes are lost\n"
        f"  acks=all, min.insync.replicas=2  valid:   all {kept:,} acknowledged writes are there"
    )
