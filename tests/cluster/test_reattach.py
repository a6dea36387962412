"""Clusters that outlive their session: kept, listed, leased by one session at a time, and removed by name."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.lifecycle import DockerMembership
from pytest_kafkacheck.cluster.docker.plan import new_plan
from pytest_kafkacheck.cluster.docker.reattach import reattach, take_over
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.spec.member import Endpoint
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.real_cluster import objects, read, wait_until, write

pytestmark = pytest.mark.cluster

SPEC = ClusterSpec(brokers=1, heap_mb=256, config={"num.io.threads": "3"})
"""A spec that no other test uses, so that no other session takes the cluster."""


@pytest.fixture
def name(engine: Any) -> Iterator[str]:
    run = f"keep-{secrets.token_hex(3)}"
    yield run
    reaper.remove_run(engine, run)


def test_up_ls_logs_properties_down(engine: Any, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--brokers", "1", "--heap-mb", "256", "--set", "num.io.threads=3", "--security", "SSL"]
    assert cli.main(["cluster", "up", "--name", name, *options]) == 0
    output = capfd.readouterr().out
    (bootstrap,) = re.findall(r"bootstrap servers: (\S+)", output)
    assert f"kafkacheck cluster down {name}" in output
    reaper.sweep(engine)
    assert cli.main(["cluster", "ls"]) == 0
    (line,) = (line for line in capfd.readouterr().out.splitlines() if line.split()[:1] == [name])
    assert "1 broker, Kafka 4.1.1" in line
    assert "1 of 1 run" in line
    assert "kept" in line
    assert cli.main(["cluster", "properties", name]) == 0
    properties = capfd.readouterr().out.splitlines()
    assert {f"bootstrap.servers={bootstrap}", "security.protocol=SSL"} <= set(properties)
    assert cli.main(["cluster", "logs", name, "1"]) == 0
    assert "Kafka Server started" in capfd.readouterr().out
    # Another process reattaches to it, with all its security settings.
    cluster = reattach(engine, name)
    assert cluster.healthy()
    topics.create(cluster.brokers, "t")
    wait_until(lambda: cluster.leader("t", 0))
    write(cluster, "t", ["one"])
    assert read(cluster, "t") == ["one"]
    assert cli.main(["cluster", "up", "--name", name]) == cli.USAGE
    assert "a cluster of this name exists" in capfd.readouterr().err
    assert cli.main(["cluster", "down", name]) == 0
    assert objects(engine, name) == []
    assert cli.main(["cluster", "down", name]) == cli.USAGE
    assert "kafkacheck cluster ls" in capfd.readouterr().err
    with pytest.raises(UsageError, match="kafkacheck cluster ls"):
        reattach(engine, name)


def test_a_kept_cluster_is_leased_by_one_session_at_a_time(engine: Any, name: str, tmp_path: Path) -> None:
    with running(engine, SPEC, run=name, logs=tmp_path) as cluster:
        address = cluster.brokers[1]
        cluster.keep()
    reaper.sweep(engine)
    assert objects(engine, name)
    with take_over(engine, SPEC) as mine:
        assert mine is not None
        assert (mine.run, mine.brokers[1], mine.spec) == (name, address, SPEC)
        assert mine.healthy()
        other = (
            "import json, sys\n"
            "from pytest_kafkacheck.cluster.docker.engine import connect\n"
            "from pytest_kafkacheck.cluster.docker.reattach import take_over\n"
            "from pytest_kafkacheck.cluster.spec.spec import ClusterSpec\n"
            "with take_over(connect(), ClusterSpec.from_json(json.loads(sys.argv[1]))) as cluster:\n"
            "    print(cluster.run if cluster else None, flush=True)\n"
            "    if len(sys.argv) > 2: __import__('os').kill(__import__('os').getpid(), 9)\n"
        )
        command = [sys.executable, "-W", "ignore", "-c", other, json.dumps(SPEC.to_json())]
        assert subprocess.run(command, capture_output=True, text=True).stdout.strip() == "None"
        with take_over(engine, ClusterSpec(brokers=1)) as different:
            assert different is None
    # The lease was released. The lease of a session that was killed ends as well.
    assert subprocess.run([*command, "die"], capture_output=True, text=True).stdout.strip() == name
    with take_over(engine, SPEC) as again:
        assert again is not None
        again.nodes[1].kill()
        # A cut that no agent heals, because it was not made through one.
        cut = engine.api.exec_create(again.nodes[1].pod, ["nft", "add table inet kafkacheck"])["Id"]
        engine.api.exec_start(cut)
        assert engine.api.exec_inspect(cut)["ExitCode"] == 0
    with take_over(engine, SPEC) as mended:
        assert mended is not None
        assert mended.healthy()
        assert "kafkacheck" not in mended.nodes[1].shell("nft list tables", timeout=10)[1]
        for container in (mended.nodes[1].container, mended.nodes[1].pod):
            engine.api.stop(container, timeout=1)
    with take_over(engine, SPEC) as after_a_boot:
        assert after_a_boot is not None
        assert (after_a_boot.brokers[1], after_a_boot.healthy()) == (address, True)
        engine.api.remove_container(after_a_boot.nodes[1].pod, force=True)
    with pytest.raises(InfrastructureError, match=f"node 1 has no pod.*cluster down {name}"):
        reattach(engine, name)
    output: list[str] = []
    with take_over(engine, SPEC, output.append) as broken:
        assert broken is None, "a kept cluster that cannot serve is no use"
    assert f"not using the kept cluster {name}: Cluster {name} is incomplete" in output[0]
    assert objects(engine, name), "and still there, for people to look at"


@pytest.mark.usefixtures("own_label")
def test_a_removal_that_fails_does_not_prevent_further_work(
    engine: Any, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reaper, "LIMIT", 0.6)
    dead = {**reaper.labels(name), reaper.OWNER: f"{os.getpid()}@-1"}
    volumes = [f"kafkacheck-{name}-{number}" for number in range(2)]
    for number, volume in enumerate(volumes):
        engine.api.create_volume(volume, labels={**dead, reaper.RUN: f"{name}-{number}"})
    binds = engine.api.create_host_config(binds={volumes[0]: {"bind": "/mnt", "mode": "rw"}})
    holder = engine.api.create_container(agent_image(), "true", host_config=binds)["Id"]
    try:
        swept = reaper.sweep(engine)
        assert f"{name}-1" in swept
        assert f"{name}-0" not in swept
        assert f"volume {volumes[0]}" in caplog.text
        assert f"kafkacheck cluster down {name}-0" in caplog.text
    finally:
        engine.api.remove_container(holder, force=True, v=True)
    assert f"{name}-0" in reaper.sweep(engine)


def test_saving_logs_has_a_deadline(
    engine: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plan = new_plan(SPEC, run=name, image="")
    cluster = DockerCluster(engine, plan, {}, membership=DockerMembership)
    (member,) = SPEC.members
    cluster.nodes[1] = cluster.node(member, Endpoint("127.0.0.1", {}), container="", pod="")
    answered = threading.Event()
    monkeypatch.setattr(cluster.nodes[1], "logs", lambda: answered.wait(60) and b"")
    monkeypatch.setattr("pytest_kafkacheck.cluster.nodes.health.LOGS_LIMIT", 0.2)
    cluster.save_logs(tmp_path / "logs")
    answered.set()
    assert "not all logs" in caplog.text


def test_a_failing_clean_up_does_not_hide_the_first_error(
    engine: Any, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hanging = connect()
    engine.api.create_volume(f"kafkacheck-{name}", labels=reaper.labels(name))
    monkeypatch.setattr(reaper, "LIMIT", 0.2)
    monkeypatch.setattr(hanging.api, "containers", lambda **_: wait_until(lambda: False, limit=1))
    with pytest.raises(ZeroDivisionError), reaper.removed_at_end(hanging, name):
        _ = 1 / 0
    assert f"kafkacheck cluster down {name}" in caplog.text
    with (
        pytest.raises(InfrastructureError, match="took more than"),
        reaper.removed_at_end(hanging, name),
    ):
        pass
    hanging.close()
