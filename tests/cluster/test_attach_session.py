"""An attached cluster whose containers have names of their own: one session at a time, and what a SIGKILL leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nemesis.effects.nft import LEASE
from nemesis.effects.shaping import HANDLE
from nemesis.faults.dns import dns
from pytest_kafkacheck import AppendLog, ClusterSpec, Experiment, pause
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.cluster.fault import parse_event
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.kafka.dynamic import Snapshot, snapshot
from pytest_kafkacheck.cluster.spec.security import issue_identity
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.harness import Harness
from tests.support.foreign_cluster import PASSWORD, USER, Foreign, two_nodes
from tests.support.real_cluster import wait_until
from workloads.workers.parent_death import spawn

pytestmark = pytest.mark.cluster

SESSION = """
import sys, time
from pathlib import Path
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.spec.client_settings import read_client_settings
with attached(connect(), sys.argv[1], security=read_client_settings(Path(sys.argv[2]))) as cluster:
    cluster.kafka.configure_broker(8, {"message.max.bytes": "2000000", "log.retention.ms": "1234000"})
    cluster.kafka.configure_topic("orders", {"retention.ms": None, "flush.messages": "1"})
    cluster.kafka.reassign("orders", 0, [8])
    cluster.nodes[8].clock.set(3600)
    cluster.nodes[7].freeze()
    cluster.nodes[8].signal("STOP")
    cluster.nodes[7].shell("nft 'table inet kafkacheck_mine; '")
    print("struck", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def shop(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    with two_nodes(engine, tmp_path_factory.mktemp("shop")) as found:
        yield found


def test_its_clients_need_tls_a_name_and_a_password(engine: Any, shop: Foreign) -> None:
    security = shop.security
    assert security is not None
    for wrong, said in (
        (None, "over PLAINTEXT.*If the brokers expect TLS or SASL, name a file"),
        (replace(security, password="wrong"), "localhost:.* rejects 'alice' over SASL_SSL with PLAIN"),
        (replace(security, ca=issue_identity(["localhost"]).ca), "CERTIFICATE_VERIFY_FAILED"),
    ):
        with pytest.raises(UsageError, match=said), attached(engine, shop.names, security=wrong):
            pass
    with attached(engine, shop.names, security=security) as cluster:
        properties = cluster.client_properties()
    assert f'username="{USER}" password="{PASSWORD}"' in properties
    assert "ssl.truststore.certificates=-----BEGIN" in properties


@pytest.mark.nightly
@pytest.mark.spark
def test_a_workload_needs_only_an_address_and_the_settings(
    engine: Any, shop: Foreign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with attached(engine, shop.names, security=shop.security) as cluster:
        bootstrap = cluster.bootstrap[0]
    given = [
        "workload",
        "append-log",
        "--bootstrap",
        bootstrap,
        "--for",
        "1",
        "--dir",
        str(tmp_path / "runs"),
    ]
    given += ["--set", "partitions=1", "--set", "replication_factor=2", "--set", "rate=100"]
    assert cli.main(given) == cli.INFRASTRUCTURE
    assert "--command-config FILE" in capsys.readouterr().err
    assert cli.main([*given, "--command-config", str(shop.config)]) == cli.AS_EXPECTED
    assert "VALID" in capsys.readouterr().out
    assert_no_secret(tmp_path / "runs")


@pytest.mark.nightly
@pytest.mark.spark
def test_an_experiment_there_stores_no_secret(shop: Foreign, tmp_path: Path) -> None:
    workload = AppendLog(partitions=1, replication_factor=2, rate=100, acks="all")
    experiment = Experiment(
        workload=workload, cluster=ClusterSpec(attached=(7, 8)), faults=[pause(8, at=0.5, lasting=3)]
    )
    with Harness(tmp_path, attach=shop.names, security=shop.security) as harness:
        harness.run(experiment).assert_valid()
    assert_no_secret(tmp_path)


def assert_no_secret(folder: Path) -> None:
    kept = [file for file in folder.rglob("*") if file.is_file()]
    assert len(kept) > 5
    for file in kept:
        assert PASSWORD.encode() not in file.read_bytes(), file


@pytest.mark.nightly
def test_dns_finds_peers_by_the_names_that_they_have(engine: Any, shop: Foreign) -> None:
    with attached(engine, shop.names, security=shop.security) as cluster, cluster.fault(dns("8")) as fault:
        assert fault.evidence


@pytest.mark.nightly
def test_a_fault_from_the_command_line_leaves_the_containers_as_their_owner_set_them(
    engine: Any, shop: Foreign, capsys: pytest.CaptureFixture[str]
) -> None:
    (orders, billing), config = shop.names.split(","), ["--command-config", str(shop.config)]
    engine.api.update_container(billing, cpu_period=100_000, cpu_quota=150_000)

    def settings() -> Any:
        return engine.api.inspect_container(billing)["HostConfig"]

    before = settings()
    assert (
        cli.main(["cluster", "fault", shop.names, "pause", "8", "--lasting", "1", *config]) == cli.AS_EXPECTED
    )
    assert "pause 8 took effect: nodes 8" in capsys.readouterr().out
    assert cli.main(["cluster", "fault", shop.names, "cpu", "8", "--lasting", "1", *config]) == cli.USAGE
    assert "cpu changes settings" in capsys.readouterr().err
    with attached(engine, shop.names, security=shop.security) as cluster:
        for fault in ("cpu", "memory", "oom"):
            event = parse_event(fault, "8", [], 1.0)
            with pytest.raises(UsageError, match=f"{fault} changes settings"), cluster.fault(event):
                pytest.fail("the block began")
    assert settings() == before
    assert before["CpuQuota"] == 150_000
    assert cli.main(["cluster", "fault", orders, "pause", "7", "--lasting", "1", *config]) == cli.USAGE
    assert "the cluster has broker 8 at" in capsys.readouterr().err, "it is one container of two"


@pytest.mark.nightly
def test_the_helper_of_a_clock_has_an_owner(
    engine: Any, shop: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, str]] = []
    with attached(engine, shop.names, security=shop.security) as cluster:
        create = cluster.client.api.create_container
        monkeypatch.setattr(
            cluster.client.api,
            "create_container",
            lambda **given: made.append(given["labels"]) or create(**given),
        )
        cluster.nodes[8].clock.get()
    assert [each.keys() >= {reaper.RUN, reaper.OWNER} for each in made] == [True]


@pytest.mark.nightly
def test_a_cluster_whose_settings_cannot_be_read_is_used_with_a_warning(
    engine: Any, shop: Foreign, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(_: object) -> Snapshot:
        raise ConnectionError("ClusterAuthorizationFailedError")

    monkeypatch.setattr("pytest_kafkacheck.cluster.docker.attach.snapshot", refused)
    with attached(engine, shop.names, security=shop.security) as cluster:
        assert cluster.healthy()
    assert "what it changes in Kafka stays: ClusterAuthorizationFailedError" in caplog.text


def in_network(engine: Any, container: str, command: str) -> int:
    """Exit status of a shell command in that container's network, with kafkacheck's tools but without its labels."""
    made = engine.api.create_container(
        agent_image(),
        command=["bash", "-c", command],
        host_config=engine.api.create_host_config(
            network_mode=f"container:{container}", cap_add=["NET_ADMIN"]
        ),
    )
    try:
        engine.api.start(made["Id"])
        return int(engine.api.wait(made["Id"])["StatusCode"])
    finally:
        engine.api.remove_container(made["Id"], force=True, v=True)


TBF = "tbf rate 100mbit burst 32kb latency 400ms"


@pytest.mark.nightly
def test_rules_and_queues_that_a_session_and_its_guardian_left_are_removed(
    engine: Any, shop: Foreign
) -> None:
    _, billing = shop.names.split(",")
    assert in_network(engine, billing, "nft add table inet kafkacheck_left && nft add table inet theirs") == 0
    has_tbf = in_network(engine, billing, f"tc qdisc add dev eth0 root handle {HANDLE}: {TBF}") == 0
    with attached(engine, shop.names, security=shop.security) as cluster:
        assert cluster.healthy()
        _, output = cluster.nodes[8].look("nft list tables; tc qdisc show dev eth0")
    assert "kafkacheck" not in output
    assert "inet theirs" in output
    assert "tbf" not in output
    if not has_tbf:
        pytest.skip("the kernel has no tbf")
    assert in_network(engine, billing, f"tc qdisc add dev eth0 root {TBF}") == 0
    try:
        with (
            pytest.raises(InfrastructureError, match=r"billing: its interface has tbf.*did not make that"),
            attached(engine, shop.names, security=shop.security),
        ):
            pass
        assert in_network(engine, billing, "tc qdisc show dev eth0 | grep -q tbf") == 0, "it is not ours"
    finally:
        in_network(engine, billing, "tc qdisc del dev eth0 root")


@pytest.mark.nightly
def test_a_clock_that_a_session_and_its_guardian_left_is_made_right(engine: Any, shop: Foreign) -> None:
    with attached(engine, shop.names, security=shop.security) as cluster:
        cluster.nodes[8].clock.set(3600)
    with attached(engine, shop.names, security=shop.security) as cluster:
        assert cluster.nodes[8].clock.get() == (0, 0)
        assert cluster.healthy()


@pytest.mark.nightly
def test_a_container_that_stands_still_is_named(engine: Any, shop: Foreign) -> None:
    _, billing = shop.names.split(",")
    engine.api.pause(billing)
    try:
        with (
            pytest.raises(UsageError, match=f"{billing} is paused; `docker unpause {billing}`"),
            attached(engine, shop.names, security=shop.security),
        ):
            pass
    finally:
        engine.api.unpause(billing)
    engine.api.kill(billing, signal="SIGSTOP")
    try:
        with (
            pytest.raises(UsageError, match=f"{billing} are stopped; `docker kill -s CONT {billing}`"),
            attached(engine, shop.names, security=shop.security),
        ):
            pass
    finally:
        engine.api.kill(billing, signal="SIGCONT")


def test_what_a_killed_session_did_is_undone_and_a_second_session_is_told_who_strikes(
    engine: Any, shop: Foreign
) -> None:
    with attached(engine, shop.names, security=shop.security) as cluster:
        cluster.kafka.configure_broker(8, {"message.max.bytes": "1500000"})
        topics.create(cluster.brokers, "orders", assignment={0: [7]}, config={"retention.ms": "86400000"})
        wait_until(lambda: cluster.kafka.topic_config("orders") == {"retention.ms": "86400000"})
        before = snapshot(cluster.brokers)
    process = spawn(
        [sys.executable, "-W", "ignore", "-c", SESSION, shop.names, str(shop.config)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "struck"
        orders, billing = shop.names.split(",")
        # Its broker does not answer, so the lease is asked for before anything of Kafka.
        with (
            pytest.raises(UsageError, match=f"in use by process {process.pid} on "),
            attached(engine, shop.names, security=shop.security),
        ):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        began = time.monotonic()

        def runs(name: str) -> bool:
            state = engine.api.inspect_container(name)["State"]
            table = engine.api.top(name, ps_args="-eo pid,stat,comm") if not state["Paused"] else {}
            return bool(table) and not any(row[1].startswith("T") for row in table["Processes"])

        wait_until(lambda: runs(orders) and runs(billing), limit=LEASE)
        sys.stdout.write(f"both ran again after {time.monotonic() - began:.1f} s\n")
    finally:
        process.kill()
        process.communicate()
    # The guardian goes on; this waits for it.
    with attached(engine, shop.names, security=shop.security) as cluster:
        assert cluster.healthy()
        assert snapshot(cluster.brokers) == before
        assert cluster.nodes[8].clock.get() == (0, 0)
