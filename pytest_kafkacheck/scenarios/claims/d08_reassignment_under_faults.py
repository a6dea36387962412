"""Under load a partition is moved while a broker is killed, and the topic gets more partitions.

Exercised: all faults had an effect, and writes were acknowledged after them.
"""

from __future__ import annotations

from nemesis.faults.add_partitions import add_partitions
from nemesis.faults.kill import kill
from nemesis.faults.reassign import reassign
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.scenarios.claim import Answer, Claim
from pytest_kafkacheck.scenarios.clusters import CURRENT
from pytest_kafkacheck.scenarios.context import ScenarioContext
from pytest_kafkacheck.scenarios.steps import found, judged
from workloads.append_log import AppendLog


def show(context: ScenarioContext) -> Answer:
    verdict = judged(
        context,
        Experiment(
            name="scenario-d8",
            workload=AppendLog(rate=300, topic_config={"min.insync.replicas": 2}),
            faults=[
                kill("follower", at=1, lasting=5),
                add_partitions(at=2),
                reassign("partition:0", at=8, lasting=4),
                kill("leader:1", at=9, lasting=5),
            ],
        ),
    )
    lost, acks = found(verdict, "lost-write"), verdict.exercised.acks
    return Answer(
        holds=verdict.result == "valid",
        seen=f"{acks} acknowledged records, {lost} lost, after {len(verdict.exercised.faults)} operations and faults "
        f"({verdict.headline()})",
        figures={"acknowledged": acks, "lost": lost, "operations and faults": len(verdict.exercised.faults)},
    )


CLAIM = Claim(
    id="D8",
    title="administration under faults",
    text="More partitions and a reassignment complete although brokers fail, and no record is lost.",
    source="https://kafka.apache.org/documentation/#basic_ops_cluster_expansion",
    cases=CURRENT,
    show=show,
)
