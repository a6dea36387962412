"""A worker that is killed during faults on a shared cluster leaves nothing of them to the next worker's test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.cluster

FILE = """
import os, pathlib, secrets, signal, threading, time
import pytest
from pytest_kafkacheck import AppendLog, ClusterSpec, Experiment
from pytest_kafkacheck import clock, configure, configure_broker, cpu, cut_clients
from pytest_kafkacheck.cluster.kafka.metadata_views import metadata
from pytest_kafkacheck.cluster.kafka.topics import create
from pytest_kafkacheck.experiment.execution import execute
from pytest_kafkacheck.experiment.operations import OperationLog
from pytest_kafkacheck.experiment.run_directory import RunDirectory

pytestmark = pytest.mark.kafkacheck(cluster=ClusterSpec(brokers=1, heap_mb=256), alone=True)

def carry_out(cluster, *faults, folder=".kafkacheck"):
    experiment = Experiment(
        workload=AppendLog(partitions=1, replication_factor=1), faults=faults, cooldown=0.1,
        cluster=ClusterSpec(brokers=1, heap_mb=256),
    )
    run = secrets.token_hex(4)
    home = RunDirectory.create(pathlib.Path(folder), name="run", run=run).path
    execute(experiment, cluster, run=run, home=home, say=print, stop=threading.Event())

def topics(cluster):
    return {name for name, _ in metadata(cluster.brokers[1], None) if name.startswith("log-")}

ALL = {"clock", "configure", "configure-broker", "cpu", "cut-clients"}

def test_a_is_killed(kafkacheck_cluster, monkeypatch):
    create(kafkacheck_cluster.brokers, "orders", config={"flush.messages": "5"})
    own = configure({"retention.ms": 86_400_000, "flush.messages": 7}, "topic:orders")
    with kafkacheck_cluster.fault(own):
        be_killed(kafkacheck_cluster, monkeypatch)

def be_killed(kafkacheck_cluster, monkeypatch):
    record, seen = OperationLog.record, set()
    def killed_when_all_are_at_work(self, row):
        record(self, row)
        if dict(row.get("value") or {}).get("stage") == "inject":
            seen.add(row["f"])
            if seen == ALL:
                pathlib.Path("before").write_text(kafkacheck_cluster.run)
                os.kill(os.getpid(), signal.SIGKILL)
    monkeypatch.setattr(OperationLog, "record", killed_when_all_are_at_work)
    carry_out(
        kafkacheck_cluster,
        clock("1", at=0, lasting=90, offset=7200),
        configure({"retention.ms": 86_400_000}, at=0, lasting=90),
        configure_broker({"message.max.bytes": 2_000_000}, "1", at=0, lasting=90),
        cut_clients("1", at=3, lasting=90),
        cpu("1", at=3, lasting=90, cores=0.05),
    )

def test_b_starts_on_a_clean_cluster(kafkacheck_cluster, monkeypatch):
    node = kafkacheck_cluster.nodes[1]
    assert pathlib.Path("before").read_text() == kafkacheck_cluster.run, "the same cluster"
    assert (node.cpu_limit(), node.clock.get(), dict(kafkacheck_cluster.kafka.broker_config(1))) == (None, (0, 0), {})
    assert "kafkacheck" not in node.look("nft list tables")[1]
    assert dict(kafkacheck_cluster.kafka.topic_config("orders")) == {"flush.messages": "5"}, "a topic of the test"
    assert topics(kafkacheck_cluster), "those of the killed run"
    rows, record = [], OperationLog.record
    monkeypatch.setattr(OperationLog, "record", lambda self, row: (rows.append(row), record(self, row)))
    carry_out(kafkacheck_cluster, cut_clients("1", at=1, lasting=8), folder="elsewhere")
    stages = [dict(row["value"]) for row in rows if row["f"] == "cut-clients"]
    assert [(each["stage"], each["effective"]) for each in stages] == [("inject", True), ("heal", True)]
    assert topics(kafkacheck_cluster) == set(), "all are deleted"
"""


@pytest.mark.nightly
def test_a_killed_worker_leaves_a_clean_cluster(
    session: Any, project: Path, owned: Callable[[int], list[str]]
) -> None:
    (project / "test_readme.py").write_text(FILE)
    running = session("-n", "1", "--kafkacheck-share=all")
    assert running.wait() == pytest.ExitCode.TESTS_FAILED, running.output
    assert (project / "before").exists(), running.output
    assert "1 failed, 1 passed" in running.output, running.output
    assert owned(running.pid) == []
