"""Clients against real brokers that are killed, paused, or refuse requests: every recorded outcome is correct."""

from __future__ import annotations

import json
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tenacity import Retrying, retry_if_not_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from workloads.append_log import AppendLog
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import ResetPolicy
from workloads.clients.requests import EARLIEST
from workloads.history.compaction.compact import compact
from workloads.workers.pool import WorkerPool

pytestmark = pytest.mark.cluster

Rows = list[dict[str, Any]]


def wait_until(condition: Callable[[], bool], limit: float = 60) -> None:
    Retrying(stop=stop_after_delay(limit), wait=wait_fixed(0.1), retry=retry_if_not_result(bool))(condition)


def rows(home: Path, table: str) -> Rows:
    found: Rows = pq.ParquetFile(home / "history" / table / "part-0.parquet").read().to_pylist()
    return found


def count(records: Rows, *names: str, **where: Any) -> Counter[Any]:
    chosen = [row for row in records if all(row[key] == value for key, value in where.items())]
    return Counter(tuple(row[name] for name in names) for row in chosen)


class Experiment:
    """Run a workload on its own topic with an event in the middle. Returns its history."""

    def __init__(self, cluster: DockerCluster, home: Path, log: AppendLog) -> None:
        self.run = secrets.token_hex(4)
        self.cluster, self.home, self.log = cluster, home, log
        self.events: list[Mapping[str, Any]] = []
        (self.topic,) = log.topics(self.run)
        topics.create(
            cluster.brokers,
            self.topic.name,
            partitions=log.partitions,
            replication_factor=log.replication_factor,
            config=self.topic.config,
        )
        wait_until(lambda: all(cluster.leader(self.topic.name, each) for each in range(log.partitions)))

    def conduct(self, event: Callable[[WorkerPool], None]) -> None:
        workers = self.log.workers()
        names = [self.topic.name]
        with WorkerPool(
            workers,
            run=self.run,
            home=self.home,
            brokers=self.cluster.brokers,
            topics=[self.topic],
            record=self.events.append,
        ) as pool:
            pool.go()
            event(pool)
            pool.stop("producer", "session")
            leaders = Leaders(self.cluster.brokers, names, stop=threading.Event())
            ends = {
                name: {
                    each: (
                        leaders.offset((name, each), at=EARLIEST, limit=30),
                        leaders.offset((name, each), limit=30),
                    )
                    for each in range(self.log.partitions)
                }
                for name in names
            }
            pool.stop("reader", "probe")
            pool.final_reads(ends, limit=60)
            assert pool.crashed() == ()
        compact(self.home)
        topics.delete(self.cluster.brokers, self.topic.name)


def assert_honest(home: Path, partitions: int) -> Rows:
    """Assert: no acknowledged record is missing, no failed one is present, no outcome is recorded twice."""
    records = rows(home, "records")
    sends = [row for row in records if row["f"] == "send"]
    assert len({row["op"] for row in sends}) == len(sends)
    final = [row["value"] for row in records if row["final"]]
    assert len(set(final)) == len(final)
    there = set(final)
    assert not [row for row in sends if row["type"] == "ok" and row["value"] not in there]
    assert not [row for row in sends if row["type"] == "fail" and row["value"] in there]
    assert there <= {row["value"] for row in sends}
    assert not [row for row in records if row["f"] == "poll" and row["error"]]
    reads = count(rows(home, "operations"), "type", f="final-read")
    assert reads == {("ok",): partitions}
    # Consumers read every record without a gap, in each assignment.
    for row in records:
        if row["f"] == "poll" and row["previous"] is not None:
            assert row["offset"] == row["previous"] + 1
    return records


@pytest.mark.nightly  # by day, examples/test_echo.py
@pytest.mark.parametrize("way", ["kill", "pause"])
def test_a_leader_fails_and_comes_back(cluster: DockerCluster, tmp_path: Path, way: str) -> None:
    log = AppendLog(topic_config={"min.insync.replicas": 2}, rate=200)
    experiment = Experiment(cluster, tmp_path, log)
    leader = cluster.leader(experiment.topic.name, 0)
    assert leader is not None
    node = cluster.nodes[leader]

    def event(pool: WorkerPool) -> None:
        wait_until(lambda: pool.acknowledged() > 200)
        node.kill() if way == "kill" else node.freeze()
        wait_until(lambda: cluster.leader(experiment.topic.name, 0) not in (None, leader))
        before = pool.acknowledged()
        wait_until(lambda: pool.acknowledged() > before + 200)
        node.start() if way == "kill" else node.thaw()
        wait_until(cluster.healthy)
        before = pool.acknowledged()
        wait_until(lambda: pool.acknowledged() > before + 200)

    experiment.conduct(event)
    records = assert_honest(tmp_path, partitions=3)
    assert count(records, "type", f="send")[("ok",)] > 600
    # The probes observed both sides of the election.
    epochs = {row["leader_epoch"] for row in records if row["f"] == "poll" and row["partition"] == 0}
    assert len(epochs) >= 2
    seen = [row for row in rows(tmp_path, "observations") if row["partition"] == 0]
    assert len({row["leader"] for row in seen}) >= 2
    assert {row["node"] for row in seen} == set(cluster.nodes)
    assert any(row["high_watermark"] for row in seen)
    assert not [row for row in seen if row["log_end"] is not None and row["high_watermark"] is not None
                and row["high_watermark"] > row["log_end"]]  # fmt: skip
    # Without transactions the last stable offset is the high watermark, so every observation has both.
    assert {row["last_stable"] is None for row in seen if row["high_watermark"] is not None} == {False}
    assert not [row for row in seen if None not in (row["log_end"], row["last_stable"])
                and row["last_stable"] > row["log_end"]]  # fmt: skip
    assert count(rows(tmp_path, "observations"), "kind")[("quorum",)] > 0
    # The session read its own writes, each up to an end offset that its leader reported. The number of reads depends
    # on the machine: a session on a frozen leader waits for its time-out while the producers go on.
    session = next(worker.process for worker in log.workers() if worker.role.name == "session")
    assert count(rows(tmp_path, "operations"), "type", f="read", process=session)[("ok",)] > 0


def test_sends_to_a_cluster_that_is_gone_are_unknown_and_not_failed(
    cluster: DockerCluster, tmp_path: Path
) -> None:
    experiment = Experiment(cluster, tmp_path, AppendLog(rate=200, partitions=1))

    def event(pool: WorkerPool) -> None:
        wait_until(lambda: pool.acknowledged() > 200)
        for node in cluster.nodes.values():
            node.freeze()
        # Without a request, as five of a producer are in flight already, there are sends that have failed.
        wait_until(lambda: pool.total("sends") > pool.acknowledged() + 200)
        # Sends that are under way end with their producer. Only then may the brokers go on.
        pool.stop("producer", "session")
        for node in cluster.nodes.values():
            node.thaw()
        wait_until(cluster.healthy)

    experiment.conduct(event)
    records = assert_honest(tmp_path, partitions=1)
    outcomes = count(records, "type", f="send")
    assert outcomes[("info",)] > 0
    assert outcomes[("fail",)] > 0


@pytest.mark.nightly
def test_after_a_fatal_refusal_a_new_producer_goes_on(cluster: DockerCluster, tmp_path: Path) -> None:
    log = AppendLog(
        partitions=1,
        producers=1,
        sessions=0,
        rate=50,
        record_size=3000,
        topic_config={"max.message.bytes": 2000},
    )
    experiment = Experiment(cluster, tmp_path, log)
    producer = log.workers()[0].process

    def event(pool: WorkerPool) -> None:
        wait_until(
            lambda: any(worker.counts.get("producers dropped", 0) > 3 for worker in pool.workers.values())
        )

    experiment.conduct(event)
    records = assert_honest(tmp_path, partitions=1)
    outcomes = count(records, "type", "error", f="send", process=producer)
    assert outcomes[("fail", "MessageSizeTooLargeError")] > 0
    assert {kind for kind, _ in outcomes} <= {"fail", "info"}


@pytest.mark.nightly
def test_a_session_reads_on_when_its_topic_is_created_again(cluster: DockerCluster, tmp_path: Path) -> None:
    """Also where the deleted topic had leader epochs above those of the new one."""
    log = AppendLog(rate=50, partitions=1, producers=1, readers=0)
    experiment = Experiment(cluster, tmp_path, log)
    topic = experiment.topic.name
    (number,) = (worker.process for worker in log.workers() if worker.role.name == "session")

    def event(pool: WorkerPool) -> None:
        session = pool.workers[number]
        node = cluster.nodes[cluster.leader(topic, 0) or 0]
        node.kill()
        wait_until(lambda: cluster.leader(topic, 0) not in (None, node.id))
        node.start()
        wait_until(cluster.healthy)
        before = session.counts.get("reads", 0)
        wait_until(lambda: session.counts.get("reads", 0) > before)
        cluster.kafka.recreate(topic)
        assert cluster.kafka.epoch(topic, 0) == 0
        before = session.counts["reads"]
        wait_until(lambda: session.counts["reads"] > before + 3)

    experiment.conduct(event)


@pytest.mark.nightly
@pytest.mark.parametrize("policy", ["earliest", pytest.param("latest", marks=pytest.mark.nightly)])
def test_a_reader_goes_on_when_its_position_is_no_longer_in_the_log(
    cluster: DockerCluster, tmp_path: Path, policy: ResetPolicy
) -> None:
    log = AppendLog(rate=200, partitions=1, readers=1, sessions=0, auto_offset_reset=policy)
    experiment = Experiment(cluster, tmp_path, log)
    (number,) = (worker.process for worker in log.workers() if worker.role.name == "reader")
    topic = experiment.topic.name
    removed: list[int] = []

    def event(pool: WorkerPool) -> None:
        reader = pool.workers[number]

        def goes_on(resets: int) -> None:
            wait_until(lambda: reader.counts.get("positions lost", 0) == resets)
            before = reader.counts["polled"]
            wait_until(lambda: reader.counts["polled"] > before)

        wait_until(lambda: reader.counts.get("polled", 0) > 200)
        reader.pause()
        paused = pool.acknowledged()
        wait_until(lambda: pool.acknowledged() > paused + 400)
        removed.append(cluster.kafka.ends(topic, 0)[1])
        cluster.kafka.delete_records(topic, 0, removed[0])
        reader.resume()
        goes_on(1)
        # Otherwise the new log may reach the position before the reader asks for it.
        producers = [each for each in pool.workers.values() if each.spec.role.name == "producer"]
        for producer in producers:
            producer.pause()
        cluster.kafka.recreate(topic)
        wait_until(lambda: reader.counts.get("positions lost", 0) == 2)
        for producer in producers:
            producer.resume()
        goes_on(2)

    experiment.conduct(event)
    deletion, recreation = (row for row in rows(tmp_path, "operations") if row["f"] == "position-lost")
    value = json.loads(deletion["value"])
    assert deletion["start_offset"] < value["log_start"] == removed[0] <= value["log_end"]
    assert deletion["end_offset"] == value["log_start" if policy == "earliest" else "log_end"]
    assert (
        recreation["start_offset"] > recreation["end_offset"] == json.loads(recreation["value"])["divergence"]
    )
    polls = [row for row in rows(tmp_path, "records") if row["f"] == "poll" and row["process"] == number]
    assert len({row["assignment"] for row in polls}) == 3
    assert all(row["offset"] == row["previous"] + 1 for row in polls if row["previous"] is not None)
