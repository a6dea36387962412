"""Members of a group crash while brokers fail, and every record is compared with what the group committed.

Exercised: commits were acknowledged after all faults (`Groups` requires that).
"""

from __future__ import annotations

from nemesis.faults.kill import kill
from nemesis.faults.kill_client import kill_client
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.scenarios.claim import Answer, Claim
from pytest_kafkacheck.scenarios.clusters import CURRENT
from pytest_kafkacheck.scenarios.context import ScenarioContext
from pytest_kafkacheck.scenarios.steps import found, judged
from workloads.groups import Groups


def show(context: ScenarioContext) -> Answer:
    verdict = judged(
        context,
        Experiment(
            name="scenario-f8",
            workload=Groups(session_timeout=3, topic_config={"min.insync.replicas": 2}),
            faults=[
                kill_client("role:member", at=2, lasting=4),
                kill("coordinator:group-0", at=8, lasting=5),
            ],
        ),
    )
    commits = verdict.exercised.commits.get("ok", 0)
    skipped, more = found(verdict, "group-skip"), found(verdict, "excess-duplicates")
    return Answer(
        holds=verdict.result == "valid",
        seen=f"{verdict.exercised.acks} records, {commits} commits: {skipped} records skipped, {more} handled again "
        f"although they were committed ({verdict.headline()})",
        figures={"commits": commits, "skipped": skipped, "handled again below a commit": more},
    )


CLAIM = Claim(
    id="F8",
    title="a rebalance skips nothing",
    text="No record is skipped when members and brokers crash, and only records that were not committed are handled "
    "again.",
    source="https://kafka.apache.org/documentation/#semantics",
    cases=CURRENT,
    show=show,
)
