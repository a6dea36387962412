"""Share groups on real brokers, by the Java client: what is released comes again, and no crash loses a record."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pytest_kafkacheck as api
from pytest_kafkacheck.cluster.spec.release import NEWEST
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support import forgetful_relay
from tests.support.java_client import java_command, java_library
from workloads.queue import Queue

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

SAFE = {"min.insync.replicas": 2}
CONFIG = {
    "group.share.min.record.lock.duration.ms": 1000,
    # The highest that brokers allow: faults may cost deliveries that nobody sees.
    "group.share.delivery.count.limit": 10,
    "group.share.session.timeout.ms": 5000,
    "group.share.min.session.timeout.ms": 5000,
    "group.share.heartbeat.interval.ms": 1000,
    "group.share.min.heartbeat.interval.ms": 1000,
}
CLUSTER = ClusterSpec(version=NEWEST.tested, config=CONFIG)


def operations(run: Run, f: str) -> list[dict[str, Any]]:
    rows = pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read().to_pylist()
    return [row | json.loads(row["value"]) for row in rows if row["f"] == f]


def confirmed(run: Run) -> Counter[str]:
    """Acknowledgements that brokers confirmed, by kind."""
    return Counter(row["kind"] for row in operations(run, "acknowledgement") if row["type"] == "ok")


@pytest.mark.nightly
@pytest.mark.parametrize("duration", [5, 30])
def test_each_record_is_accepted_by_one_of_the_consumers(
    kafkacheck: Callable[[Experiment], Run], duration: int
) -> None:
    """One poll of ten is late, by chance: a slow machine polls too seldom in 5 s to see one for certain."""
    workload = Queue(
        library=java_library(), consumers=2, lock=2, expire=0.1, release=0.1, reject=0.02, topic_config=SAFE
    )
    run = kafkacheck(Experiment(workload=workload, cluster=CLUSTER, duration=duration))
    run.assert_valid()
    assert not run.verdict.findings
    kinds = confirmed(run)
    assert min(kinds["accept"], kinds["release"], kinds["reject"]) > 0, kinds
    counts = Counter(row["deliveries"] for row in operations(run, "delivery"))
    assert counts[2] >= kinds["release"], counts
    assert {row["delivery_limit"] for row in operations(run, "queue")} == {10}
    refused = Counter(
        row["error"] for row in operations(run, "acknowledgement") if row["completed"] is not None
    )
    if duration > 5:
        assert refused["INVALID_RECORD_STATE"] > 0, "no lock timed out"


@pytest.mark.nightly
def test_no_crash_of_a_consumer_or_a_broker_loses_a_record(kafkacheck: Callable[[Experiment], Run]) -> None:
    workload = Queue(library=java_library(), lock=2, topic_config=SAFE)
    faults = [
        api.kill_client("member:queue", at=2, lasting=2),
        api.kill("leader", at=6, lasting=4),
        api.kill("coordinator:queue", at=14, lasting=4),
    ]
    run = kafkacheck(Experiment(workload=workload, cluster=CLUSTER, faults=faults, cooldown=8))
    run.assert_valid()
    assert not run.verdict.findings
    assert {row["delivery_limit"] for row in operations(run, "queue")} == {10}
    assert max(row["deliveries"] for row in operations(run, "delivery")) > 1


# Brokers tell consumers of partitions in their answers to heartbeats, after producers know them.
SLOW = CONFIG | {"group.share.heartbeat.interval.ms": 5000, "group.share.session.timeout.ms": 15_000}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("version", "policy", "found"),
    [
        ("4.3.1", "latest", {"added-queue-skip"}),
        # KAFKA-20742 is mended there.
        (NEWEST.tested, "latest", set()),
        (NEWEST.tested, "earliest", set()),
    ],
)
def test_a_share_group_that_begins_at_the_end_of_an_added_partition(
    kafkacheck: Callable[[Experiment], Run], version: str, policy: Any, found: set[str]
) -> None:
    workload = Queue(
        library=java_library(), lock=2, expire=0, partitions=1, topic_config=SAFE, auto_offset_reset=policy
    )
    cluster = ClusterSpec(version=version, config=SLOW)
    run = kafkacheck(
        Experiment(workload=workload, cluster=cluster, faults=[api.add_partitions(at=8)], cooldown=12)
    )
    run.assert_valid()
    assert {each.anomaly for each in run.verdict.findings} == found
    (added,) = (row for row in operations(run, "queue") if row["partition"] == 1)
    assert (added["type"], added["policy"]) == ("ok", policy)
    assert added["end_offset"] > 0


@dataclass(frozen=True, kw_only=True)
class FixedQueue(Queue):
    declaration = replace(Queue.declaration, fixed_partitions="an added one is to stay empty")


@pytest.mark.nightly
def test_a_partition_that_nobody_writes_to_is_done(kafkacheck: Callable[[Experiment], Run]) -> None:
    """Brokers know nothing of a group in it before the first acknowledgement there."""
    workload = FixedQueue(library=java_library(), lock=2, partitions=1, topic_config=SAFE)
    run = kafkacheck(
        Experiment(workload=workload, cluster=CLUSTER, faults=[api.add_partitions(at=3)], cooldown=5)
    )
    run.assert_valid()
    ends = {row["partition"]: row["end_offset"] for row in operations(run, "queue")}
    assert ends[0] > 0
    assert ends[1] == 0


@pytest.mark.nightly
def test_a_client_that_accepts_what_it_never_processed_loses_records(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    relay = [sys.executable, "-I", "-S", str(Path(forgetful_relay.__file__)), *java_command()]
    workload = Queue(library=f"command:{shlex.join(relay)}", consumers=2, lock=2, expire=0, topic_config=SAFE)
    run = kafkacheck(Experiment(workload=workload, cluster=CLUSTER, duration=5, expect="invalid"))
    run.assert_invalid("queue-lost")
    (finding,) = run.verdict.findings
    delivered = {(row["partition"], row["start_offset"]) for row in operations(run, "delivery")}
    for example in finding.examples:
        assert example["offset"] % forgetful_relay.EVERY == 0
        assert (example["partition"], example["offset"]) not in delivered
