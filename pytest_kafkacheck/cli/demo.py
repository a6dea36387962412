"""``kafkacheck demo``: the same fault, two settings of the producer, two verdicts, in about a minute."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_kafkacheck.cli.command import Command
from pytest_kafkacheck.cli.common.console import say, show
from pytest_kafkacheck.cli.common.options import (
    add_harness_options,
    add_spark_options,
    harness_options,
)
from pytest_kafkacheck.cli.common.results import VERDICTS, add_json_option, check_json, write_runs
from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.experiment import Experiment
    from pytest_kafkacheck.experiment.harness import Harness

SESSION_TIMEOUT = 3.0
"""Seconds after which the brokers of a cluster of kafkacheck elect a new leader in place of one that is cut off."""

RATE = 1000
"""Records per second of each producer. At full speed, clients leave two cores too little time for an election: the
cluster's controllers lost and regained their own leader until the cut was over, and nothing was lost."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_spark_options(parser)
    add_harness_options(parser)
    add_json_option(parser, VERDICTS)


def _run(options: argparse.Namespace) -> int:
    """Run both experiments, check both verdicts, and sum up. Raises VerdictError when one is not as expected."""
    from pytest_kafkacheck.experiment.harness import Harness

    check_json(options.json)

    def tell(text: str) -> None:
        if options.json != "-":
            print(text, flush=True)

    with Harness(options.dir, say=say, show=show, **harness_options(options)) as harness:
        losing, keeping = experiments(_session_timeout(harness, options))
        tell(
            "One partition, three replicas. Its leader is cut off from the other brokers, not from its clients.\n"
        )
        tell("1. Producers ask for acks=1: the leader alone acknowledges.")
        lost = harness.run(losing)
        tell(lost.text() + "\n")
        lost.assert_invalid("lost-write")
        tell("2. Producers ask for acks=all, min.insync.replicas=2: a second broker must have the record.")
        kept = harness.run(keeping)
        tell(kept.text() + "\n")
        kept.assert_valid()
    write_runs(options, [lost, kept])
    count = next(each.count for each in lost.verdict.findings if each.anomaly == "lost-write")
    tell(
        "What you saw: the isolated leader did not know that it had been replaced and went on acknowledging.\n"
        f"  acks=1                           invalid: {count:,} of {lost.verdict.exercised.acks:,} acknowledged "
        f"writes are lost\n"
        f"  acks=all, min.insync.replicas=2  valid:   all {kept.verdict.exercised.acks:,} acknowledged writes are "
        f"there"
    )
    return AS_EXPECTED


def _session_timeout(harness: Harness, options: argparse.Namespace) -> float:
    """Seconds, of the cluster that the demo uses. Attaches to it, if it is somebody else's."""
    from pytest_kafkacheck.cluster.docker.attach import AttachedCluster
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    if options.attach is None:
        return SESSION_TIMEOUT
    with harness.cluster(ClusterSpec(), logs=options.dir) as cluster:
        return cluster.session_timeout if isinstance(cluster, AttachedCluster) else SESSION_TIMEOUT


def isolation_seconds(session_timeout: float) -> float:
    """How long the leader is cut off: until a new one is elected, and as long again, in which clients go on writing
    to the old one. An election takes some seconds more if the old leader was the active controller, too.
    """
    return 2 * session_timeout + 4


def experiments(session_timeout: float = SESSION_TIMEOUT) -> tuple[Experiment, Experiment]:
    """One that loses acknowledged writes, and one that keeps them. `session_timeout`: of the brokers, in seconds."""
    from nemesis.faults.isolate import isolate
    from pytest_kafkacheck.experiment.experiment import Experiment
    from workloads.append_log import AppendLog

    fault = isolate("leader", at=3, lasting=isolation_seconds(session_timeout))
    losing = Experiment(
        name="demo-acks-1",
        workload=AppendLog(acks=1, partitions=1, rate=RATE, topic_config={"min.insync.replicas": 1}),
        faults=[fault],
        expect="invalid",
    )
    keeping = Experiment(
        name="demo-acks-all",
        workload=AppendLog(acks="all", partitions=1, rate=RATE, topic_config={"min.insync.replicas": 2}),
        faults=[fault],
    )
    return losing, keeping


COMMAND = Command(
    name="demo",
    help="show acknowledged writes that are lost, and how to keep them",
    order=22,
    add_options=_add_options,
    run=_run,
    examples=("kafkacheck demo", "kafkacheck demo --attach compose:shop"),
)
