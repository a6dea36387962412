"""Nodes with a disk of their own: the data is on it, it loses data without power, and it is removed at the end."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import lifecycle, loop_devices, reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.disk import BALLAST
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.nodes.health import LOOK, of_node
from pytest_kafkacheck.cluster.nodes.node import DISK_MARK, WRITE_LIMIT_MARK
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.real_cluster import DISK_MB, backing_files, objects, own, read, round_of, wait_until, write
from tests.support.repetitions import repetitions

pytestmark = pytest.mark.cluster


@pytest.fixture
def settled(disks: DockerCluster) -> Iterator[DockerCluster]:
    yield disks
    lifecycle.wait_settled(disks)


def led_by(cluster: DockerCluster, node: int) -> str:
    """A new topic with one partition, led by that node."""
    name = f"disk-{random.randrange(1 << 40):x}"
    others = [other for other in sorted(cluster.brokers) if other != node]
    topics.create(cluster.brokers, name, assignment={0: [node, *others]})
    wait_until(lambda: cluster.leader(name, 0) == node)
    return name


def test_a_cluster_serves_and_its_data_is_on_the_disks(settled: DockerCluster) -> None:
    round_of(settled)
    disk = settled.nodes[1].disk
    assert disk.own
    assert 0 < disk.available() < DISK_MB << 20
    status, output = disk.run("cat /k/data/meta.properties; ls /k/data; exit 7")
    assert status == 7
    assert "node.id=1" in output
    assert "__cluster_metadata-0" in output
    assert disk.run("sleep 60", timeout=0.5)[0] == 124


@pytest.mark.nightly
def test_the_data_is_visible_in_every_state_of_the_node(settled: DockerCluster) -> None:
    node = settled.nodes[2]
    node.freeze()
    try:
        assert node.disk.run("cat /k/data/meta.properties")[0] == 0
    finally:
        node.thaw()
    node.kill()
    assert node.disk.run("cat /k/data/meta.properties")[0] == 0
    node.start()


def test_a_power_loss_destroys_data_that_was_not_durable(settled: DockerCluster) -> None:
    node = settled.nodes[3]
    topic = led_by(settled, 3)
    write(settled, topic, ["kept by the others"])
    for number in range(repetitions(3, shorter=1)):
        status, output = node.disk.run(
            f"echo durable > /k/data/synced-{number}; sync /k/data/synced-{number}; echo lost > /k/data/lost-{number}"
        )
        assert status == 0, output
        assert "lost" in node.disk.run(f"cat /k/data/lost-{number}")[1]
        node.disk.power_off()
        assert node.state() == "stopped"
        node.start()
        status, output = node.disk.run(
            f"cat /k/data/synced-{number}; cat /k/data/lost-{number} 2>/dev/null; true"
        )
        # The file's name may survive: each fsync of the broker also writes the file system's journal.
        assert output == "durable\n"
        node.disk.run("rm -f /k/data/lost-* /k/data/synced-*")
        lifecycle.wait_settled(settled)
    assert read(settled, topic) == ["kept by the others"]


@pytest.mark.nightly
def test_a_frozen_disk_thaws_by_itself(settled: DockerCluster) -> None:
    node = settled.nodes[2]
    node.disk.run("true")
    began = time.monotonic()
    node.disk.freeze(2)
    assert node.disk.run("echo through > /k/data/waits; cat /k/data/waits", timeout=20) == (0, "through\n")
    assert time.monotonic() - began > 1.9
    assert not node.disk.frozen()
    node.disk.run("rm /k/data/waits")


@pytest.mark.nightly
def test_power_loss_of_a_frozen_disk(settled: DockerCluster) -> None:
    node = settled.nodes[2]
    node.disk.freeze(60)
    began = time.monotonic()
    node.disk.power_off()
    assert time.monotonic() - began < 30, "it waits for no thaw"
    node.start()


@pytest.mark.nightly
def test_a_disk_that_was_shut_down_fails_until_the_next_start(settled: DockerCluster) -> None:
    node = settled.nodes[2]
    # A running broker would exit when its disk fails, and the mount would go with its container.
    node.freeze()
    node.disk.shut_down()
    assert node.disk.run("echo > /k/data/no")[0] != 0
    assert not node.disk.repair()
    node.thaw()
    node.kill()
    node.start()
    assert node.disk.repair()


@pytest.mark.nightly
def test_a_wiped_node_has_a_new_disk_and_the_disk_of_a_removed_node_is_gone(settled: DockerCluster) -> None:
    engine = settled.client
    settled.nodes[2].disk.run("touch /k/data/old")
    lifecycle.wipe(settled, 2)
    assert settled.nodes[2].disk.own
    assert settled.nodes[2].disk.run("ls /k/data/old")[0] != 0
    assert 0 < settled.nodes[2].disk.available() < DISK_MB << 20
    added = lifecycle.add_broker(settled)
    settled.nodes[added].disk.run("true")
    assert len(backing_files(engine, settled.run)) == 4
    lifecycle.remove_broker(settled, added)
    assert len(backing_files(engine, settled.run)) == 3


def test_disk_faults_of_a_dead_session_are_repaired(settled: DockerCluster) -> None:
    settled.nodes[1].disk.fill()
    settled.nodes[2].disk.freeze(60)
    settled.nodes[3].disk.throttle(100_000)
    assert settled.nodes[3].disk.throttled() == 100_000
    assert {node.id: of_node(settled, node) for node in settled.nodes.values()} == {
        1: [f"kafka1: its disk is filled by {BALLAST}"],
        2: ["kafka2: its disk is frozen"],
        3: ["kafka3: what it writes to its disk is limited to 100000 bytes per second"],
    }
    assert not settled.healthy()
    lifecycle.repair(settled)
    assert settled.healthy()
    assert settled.nodes[3].disk.throttled() is None
    assert settled.nodes[1].disk.available() > 0
    assert not settled.nodes[2].disk.frozen()
    assert not any(
        mark in node.look(LOOK)[1]
        for node in settled.nodes.values()
        for mark in (DISK_MARK, WRITE_LIMIT_MARK)
    )


@pytest.mark.nightly
def test_too_few_loop_devices_are_counted(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a host whose kernel does not add devices by itself."""
    monkeypatch.setattr(
        loop_devices, "SCRIPT", loop_devices.SCRIPT.replace("/host/dev/loop*", "/host/dev/loop[67]")
    )
    run = own("many")
    disks = {f"kafkacheck-{run}-{number}-data": f"kafkacheck-{run}-{number}-disk" for number in range(3)}
    with (
        pytest.raises(InfrastructureError, match="need 3 loop devices; the engine's host has 2, of which"),
        reaper.removed_at_end(engine, run),
    ):
        loop_devices.make_disks(engine.api, disks, mb=64, owner=reaper.labels(run))
    assert backing_files(engine, run) == objects(engine, run) == []


@pytest.mark.nightly
@pytest.mark.usefixtures("own_label")
def test_a_half_made_disk_is_swept(engine: Any) -> None:
    """The session died after it attached the file, before it made the data volume."""
    run = own("half")
    dead = {**reaper.labels(run), reaper.OWNER: "1@-1"}
    name = f"kafkacheck-{run}-disk"
    engine.api.create_volume(name, labels={**dead, loop_devices.DISK: f"kafkacheck-{run}-data"})
    with loop_devices.loop_helper(engine.api, [name], labels=dead) as helper:
        helper.make([name], mb=64)
    assert len(backing_files(engine, run)) == 1
    assert run in reaper.sweep(engine)
    assert backing_files(engine, run) == objects(engine, run) == []


HOLD = "touch /held; until [ -e /go ]; do sleep 0.05; done"
WAITS = "until grep -qx flock /proc/[0-9]*/comm; do sleep 0.05; done"


@pytest.mark.nightly
@pytest.mark.usefixtures("own_label")
def test_a_device_is_not_detached_while_another_helper_looks_for_devices(engine: Any) -> None:
    """It could be that of another cluster by then: its number is all that the one who detaches it knows."""
    run = own("locked")
    name, labels = f"kafkacheck-{run}-disk", reaper.labels(run)
    engine.api.create_volume(name, labels=labels)
    with (
        reaper.removed_at_end(engine, run),
        loop_devices.loop_helper(engine.api, [], labels=labels) as other,
        loop_devices.loop_helper(engine.api, [name], labels=labels) as helper,
        ThreadPoolExecutor() as pool,
    ):
        helper.make([name], mb=64)
        holding = pool.submit(other.run, "locked", "sh", "-c", HOLD)
        other.run("sh", "-c", "until [ -e /held ]; do sleep 0.05; done")
        detaching = pool.submit(helper.detach)
        helper.run("sh", "-c", WAITS)
        assert len(backing_files(engine, run)) == 1
        other.run("touch", "/go")
        assert holding.result() == (0, "")
        detaching.result()
        assert backing_files(engine, run) == []


def test_an_ordinary_volume_is_visible_but_has_no_faults(cluster: DockerCluster) -> None:
    disk = cluster.nodes[1].disk
    assert not disk.own
    assert disk.run("grep node.id /k/data/meta.properties")[0] == 0
    for fault in (
        disk.fill,
        disk.empty,
        disk.shut_down,
        disk.power_off,
        disk.frozen,
        disk.thaw,
        disk.available,
    ):
        with pytest.raises(UsageError, match=re.escape("ClusterSpec(disk_mb=256)")):
            fault()
    disk.close()


SESSION = """
import sys
from pathlib import Path
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
with running(connect(), ClusterSpec(brokers=1, disk_mb=64), run=sys.argv[1], logs=Path(sys.argv[2])) as cluster:
    cluster.nodes[1].disk.freeze(600)
    print("frozen", flush=True)
    sys.stdin.read()
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "seconds",
    [1.8, *(pytest.param(each, marks=pytest.mark.nightly) for each in (0.9, 1.1, 1.3, 1.5, 2.5)), None],
)
def test_the_disks_of_a_killed_session_are_removed(
    engine: Any, tmp_path: Path, seconds: float | None
) -> None:
    """It is killed while it makes disks, while the cluster starts, and after it froze a disk for ten minutes."""
    run = own(f"killed-{seconds}")
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SESSION, run, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as session:
        assert session.stdout is not None
        if seconds is None:
            assert session.stdout.readline() == b"frozen\n"
        else:
            time.sleep(seconds)
        session.send_signal(signal.SIGKILL)
        session.wait()
    left = objects(engine, run), backing_files(engine, run)
    sys.stdout.write(f"after {seconds} s: {len(left[0])} objects, {len(left[1])} loop devices\n")
    # The engine may still complete a request of the dead client; a second clean-up finds that object.
    for _ in range(2):
        reaper.sweep(engine)
        time.sleep(0.5)

    # A busy engine may complete it later still, and the clean-up of another session may be removing the last object.
    def is_removed() -> bool:
        reaper.sweep(engine)
        return objects(engine, run) == []

    wait_until(is_removed)
    assert backing_files(engine, run) == []
