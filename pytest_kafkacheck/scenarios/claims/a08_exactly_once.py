"""Two processes copy a topic in transactions; one of them and the leader of the output are killed.

Exercised: copies were committed after both faults (`Copy` requires that).
"""

from __future__ import annotations

from nemesis.faults.kill import kill
from nemesis.faults.kill_client import kill_client
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.scenarios.claim import Answer, Claim
from pytest_kafkacheck.scenarios.clusters import CURRENT
from pytest_kafkacheck.scenarios.context import ScenarioContext
from pytest_kafkacheck.scenarios.steps import found, judged
from workloads.copying import Copy


def show(context: ScenarioContext) -> Answer:
    verdict = judged(
        context,
        Experiment(
            name="scenario-a8",
            workload=Copy(guarantee="exactly-once", topic_config={"min.insync.replicas": 2}),
            faults=[kill_client("role:copier", at=2, lasting=3), kill("leader:output-0", at=6, lasting=5)],
        ),
    )
    copies = verdict.exercised.copies.get("ok", 0)
    wrong = found(verdict, "duplicate-copy", "lost-copy")
    return Answer(
        holds=verdict.result == "valid",
        seen=f"{copies} copies, {wrong} of them missing or there twice ({verdict.headline()})",
        figures={"copies": copies, "missing or twice": wrong, "faults": len(verdict.exercised.faults)},
    )


CLAIM = Claim(
    id="A8",
    title="exactly once",
    text="A program that reads, processes and writes in transactions has each input in its output exactly once, "
    "although brokers and processes crash.",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging",
    cases=CURRENT,
    show=show,
)
