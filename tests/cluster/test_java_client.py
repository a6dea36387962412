"""Apache Kafka's Java client on real brokers."""

from __future__ import annotations

import json
import secrets
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kafka.protocol.admin import DescribeTransactionsRequest

import pytest_kafkacheck as api
from pytest_kafkacheck.client_test.real_brokers import RealBrokers
from pytest_kafkacheck.client_test.run import run_rules
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.release import NEWEST
from pytest_kafkacheck.cluster.spec.spec import DEFAULT_VERSION, ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.setup.class_archives import ensure_class_archives
from pytest_kafkacheck.setup.java_clients import provide
from tests.support import misbehaving_relay
from tests.support.java_client import java_command, java_library
from tests.support.real_cluster import own, wait_until
from workloads.append_log import AppendLog
from workloads.clients.connection import ask
from workloads.clients.coordination import coordinator
from workloads.clients.java.program import is_installed, jars_of
from workloads.clients.java.releases import DEFAULT_RELEASE
from workloads.clients.library import library
from workloads.copying import Copy
from workloads.groups import Groups
from workloads.transactions import Transactions

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400), pytest.mark.nightly]

SAFE = {"min.insync.replicas": 2}


def operations(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        pq.ParquetFile(run.path / "history" / "operations" / "part-0.parquet").read().to_pylist()
    )
    return found


def test_acknowledged_writes_survive_the_end_of_a_leader(kafkacheck: Callable[[Experiment], Run]) -> None:
    workload = AppendLog(
        library=java_library(), producers=1, readers=1, sessions=0, partitions=2, rate=300, topic_config=SAFE
    )
    run = kafkacheck(Experiment(workload=workload, faults=[api.kill("leader", at=1, lasting=2)], cooldown=1))
    run.assert_valid()
    assert run.verdict.exercised.acks > 300
    environment = json.loads((run.path / "environment.json").read_text())
    assert environment["clients"] == {workload.library: f"org.apache.kafka:kafka-clients {DEFAULT_RELEASE}"}


def test_a_broker_image_gives_the_client_of_its_release(
    engine: Any,  # noqa: ARG001 - it has to run
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    provide(["kafka-python", f"java-{DEFAULT_VERSION}", "java-2.9.9"])
    assert is_installed(DEFAULT_VERSION)
    assert len(list(jars_of(DEFAULT_VERSION).glob("*.jar"))) == 4
    assert not is_installed("2.9.9")


def test_it_keeps_to_every_rule_of_the_protocol(engine: Any, tmp_path: Path) -> None:
    lines: list[str] = []
    spec = ClusterSpec(version=NEWEST.tested, brokers=1)
    ensure_class_archives(engine, spec.version, image_for(spec.version, engine), print)
    with running(engine, spec, run=own("rules"), logs=tmp_path) as one, RealBrokers(one.brokers) as brokers:
        broken = run_rules(
            java_command(), brokers, run=secrets.token_hex(4), log=tmp_path / "client.log", say=lines.append
        )
    assert broken == 0, "\n".join(lines)
    assert not [line for line in lines if line.startswith("skip")], "\n".join(lines)


@pytest.mark.parametrize(
    "values",
    [
        {"assignor": "range"},
        {"assignor": "cooperative-sticky", "rejoin": 1.5},
        {"assignor": "sticky", "static": True},
        {"protocol": "consumer", "rejoin": 1.5},
    ],
    ids=["range", "cooperative-sticky", "static-sticky", "consumer"],
)
def test_groups_are_valid_while_coordinators_and_members_fail(
    kafkacheck: Callable[[Experiment], Run], values: dict[str, Any]
) -> None:
    workload = Groups(library=java_library(), members=3, topic_config=SAFE, commit="periodic", **values)
    config = {
        "group.consumer.min.session.timeout.ms": 3000,
        "group.consumer.session.timeout.ms": 3000,
        "group.consumer.min.heartbeat.interval.ms": 750,
        "group.consumer.heartbeat.interval.ms": 750,
    }
    run = kafkacheck(
        Experiment(
            workload=workload,
            cluster=ClusterSpec(version="4.1.1", config=config),
            faults=[
                api.kill_client("member:group-0", at=3, lasting=2),
                api.kill("coordinator:group-0", at=9, lasting=3),
            ],
            cooldown=4,
        )
    )
    run.assert_valid()
    events = Counter(json.loads(row["value"])["event"] for row in operations(run) if row["f"] == "member")
    assert min(events["joined"], events["assigned"]) >= 3
    commits = Counter(row["type"] for row in operations(run) if row["f"] == "commit")
    assert commits["ok"] > 10


def test_transactions_are_valid_while_a_coordinator_fails_and_a_rival_fences(
    kafkacheck: Callable[[Experiment], Run],
) -> None:
    workload = Transactions(library=java_library(), transactors=2, rivals=1, topic_config=SAFE)
    faults = [
        api.fence("transaction:transactor-1", at=2),
        api.kill("transaction-coordinator:transactor-0", at=4, lasting=3),
    ]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=3))
    run.assert_valid()
    ended = Counter(
        (json.loads(row["value"])["outcome"], row["type"]) for row in operations(run) if row["f"] == "txn"
    )
    assert ended["commit", "ok"] > 20, ended


def test_copies_are_exactly_once_while_copiers_crash(kafkacheck: Callable[[Experiment], Run]) -> None:
    workload = Copy(library=java_library(), copiers=2, topic_config=SAFE)
    faults = [api.kill_client("member:copiers", at=3, lasting=1)]
    run = kafkacheck(Experiment(workload=workload, faults=faults, cooldown=5))
    run.assert_valid()


def test_transactions_have_version_2(cluster: DockerCluster) -> None:
    """Each transaction that ends raises the epoch of its producer by one (KIP-890), which earlier ones did not."""
    one = library(java_library())
    topic = own(f"java-{secrets.token_hex(4)}")
    topics.create(cluster.brokers, topic, partitions=1, replication_factor=3)
    wait_until(lambda: cluster.leader(topic, 0) is not None)
    producer = one.transactional(
        bootstrap=cluster.brokers.values(), topics=(topic,), transactional_id=topic, timeout=30, settings={}
    )
    epochs = []
    for op in range(4):
        producer.begin()
        producer.send(op, (topic, 0), b"x")
        taken: list[Any] = []
        wait_until(partial(_has_taken, producer, taken))
        assert taken[0].outcome.type == "ok"
        assert producer.end("commit" if op % 2 else "abort", 30).type == "ok"
        epochs.append(_epoch(cluster, topic))
    assert [after - before for before, after in pairwise(epochs)] == [1, 1, 1], epochs
    producer.close(5)
    one.close()  # type: ignore[attr-defined]


def _has_taken(producer: Any, taken: list[Any]) -> bool:
    taken += producer.take(0.1)
    return bool(taken)


def _epoch(cluster: DockerCluster, id: str) -> int:
    """Of the transactional id, as its coordinator reports it."""
    request = DescribeTransactionsRequest(version=0, transactional_ids=[id])
    any_broker = next(iter(cluster.brokers.values()))
    node = coordinator(lambda request: ask(any_broker, request, timeout=5), "transaction", id)
    assert node is not None
    (state,) = ask(cluster.brokers[node], request, timeout=5).transaction_states
    return int(state.producer_epoch)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("dies", "ended by itself with status 1"),
        ("garbage", "wrote a line that is no JSON object: [main] WARN a library prints to standard output"),
        ("out-of-turn", "answered out of turn"),
    ],
    ids=["dies", "garbage", "out-of-turn"],
)
def test_a_run_whose_client_fails_is_unknown(
    kafkacheck: Callable[[Experiment], Run], mode: str, said: str
) -> None:
    relay = [sys.executable, "-I", "-S", str(Path(misbehaving_relay.__file__)), mode, "6", *java_command()]
    workload = AppendLog(
        library=f"command:{shlex.join(relay)}",
        producers=1,
        readers=1,
        sessions=0,
        rate=200,
        topic_config=SAFE,
    )
    began = time.monotonic()
    run = kafkacheck(Experiment(workload=workload, duration=8, expect="unknown"))
    run.assert_unknown()
    (reason,) = [each for each in run.verdict.unknowns if said in each]
    assert "\n" not in reason
    assert reason.startswith("producer 0: client '")
    assert run.verdict.exercised.acks > 50
    assert time.monotonic() - began < 120
    log = (run.path / "logs" / "client-0.log").read_text()
    assert "Traceback" not in log
