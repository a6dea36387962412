"""`kafkacheck workload` on brokers of which it knows only an address."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker.boot import running as running_cluster
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.real_cluster import own, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.spark]


def begin(cluster: DockerCluster, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest_kafkacheck", "workload", *arguments]
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(
            [*command, "--bootstrap", cluster.bootstrap[-1], "--dir", str(folder / "runs")],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A background job of a shell script ignores SIGINT, and its children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def said(folder: Path) -> str:
    return (folder / "output").read_text()


def groups(cluster: DockerCluster) -> set[str]:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    found = {each["group_id"] for each in admin.list_groups()}
    admin.close()
    return found


def topics(cluster: DockerCluster) -> set[str]:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    found = set(admin.list_topics())
    admin.close()
    return found


@pytest.mark.nightly
def test_a_workload_is_run_and_judged(
    cluster: DockerCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, whose Spark is warm."""
    where = ["--bootstrap", cluster.bootstrap[-1], "--dir", str(tmp_path)]
    status = cli.main(["workload", "transactions", "--for", "3", "--set", "partitions=2", *where])
    output = "".join(capsys.readouterr())
    assert status == cli.AS_EXPECTED, output
    assert "VALID" in output
    assert all(f"{node} at {at}" in output for node, at in cluster.brokers.items())


def test_an_interrupt_leaves_no_topic(cluster: DockerCluster, tmp_path: Path) -> None:
    """Neither that of the workload nor those that its clients make while they work."""
    before = topics(cluster)
    running = begin(cluster, tmp_path, "admin", "--for", "600")
    wait_until(lambda: "load is on" in said(tmp_path) or running.poll() is not None, limit=60)
    # Side topics come and go, and a broker learns of each a moment later.
    wait_until(
        lambda: {name.partition("-")[0] for name in topics(cluster) - before} >= {"admin", "side"}, limit=30
    )
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130, said(tmp_path)
    wait_until(lambda: topics(cluster) == before, limit=30)


@pytest.mark.nightly
def test_an_interrupt_leaves_no_group(cluster: DockerCluster, tmp_path: Path) -> None:
    """Its members are killed, and stay in the group until their session timeout."""
    before = groups(cluster)
    running = begin(cluster, tmp_path, "groups", "--for", "600", "--set", "session_timeout=3")
    wait_until(lambda: "load is on" in said(tmp_path) or running.poll() is not None, limit=60)
    wait_until(lambda: {name.partition("-")[0] for name in groups(cluster) - before} == {"group"}, limit=30)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130, said(tmp_path)
    assert groups(cluster) == before


@pytest.mark.nightly
def test_brokers_of_an_older_release_are_refused(engine: Any, tmp_path: Path) -> None:
    spec = ClusterSpec(version="3.9.2", brokers=1)
    with running_cluster(engine, spec, run=own("older"), logs=tmp_path / "logs") as old:
        before = topics(old)
        for arguments in (
            ["admin"],
            ["groups", "--set", "protocol=consumer", "--set", "library=confluent-kafka"],
        ):
            running = begin(old, tmp_path, *arguments, "--for", "600", "--set", "replication_factor=1")
            assert running.wait(timeout=60) == 2, said(tmp_path)
            assert "needs Kafka 4.0 or later" in said(tmp_path)
            assert "the brokers have these releases: 1: 3.9; choose other brokers" in said(tmp_path)
        assert topics(old) == before


def test_brokers_that_serve_no_reads_from_followers_are_refused(
    cluster: DockerCluster, tmp_path: Path
) -> None:
    before = topics(cluster)
    running = begin(cluster, tmp_path, "sessions", "--for", "600", "--set", "read_from=follower")
    assert running.wait(timeout=60) == 2, said(tmp_path)
    assert "the brokers have these racks: 1: none, 2: none, 3: none; set broker.rack" in said(tmp_path)
    assert topics(cluster) == before
