"""Faults of disks, on a cluster whose nodes have file systems of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nemesis.event import Event
from pytest_kafkacheck import disk_full, disk_stall, log_dir_failure, power_loss, slow_disk
from pytest_kafkacheck.cluster.docker import disk, lifecycle
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.disk import Disk
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.setup import capabilities
from pytest_kafkacheck.setup.capabilities import missing_capabilities, require_capabilities
from tests.support.fault_run import LONG, Injection, eventually, produce, unproved
from tests.support.real_cluster import own

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", autouse=True)
def _topic(disks: DockerCluster) -> Iterator[None]:
    topics.create(disks.brokers, "t", assignment={0: [1, 2, 3]})
    yield
    topics.delete(disks.brokers, "t")


@pytest.fixture(scope="module")
def limits(engine: Any) -> None:
    if (why := missing_capabilities(engine, ["throttle"])["throttle"]) is not None:
        pytest.skip(f"slow-disk needs a limit on writes to a block device: {why}")


@pytest.mark.parametrize("fault", [power_loss, log_dir_failure, disk_full])
def test_a_disk_that_ends_its_broker(disks: DockerCluster, fault: Callable[..., Event]) -> None:
    assert eventually(lambda: produce(disks, "t", count=20) == 20)
    with Injection(disks, fault("leader", lasting=LONG), topic="t") as injection:
        (node,) = injection.nodes

        def down() -> bool:
            produce(disks, "t", count=20, size=100_000, acks=1, limit=5)
            return not disks.answers(node)

        assert eventually(down)
        assert eventually(lambda: disks.leader("t", 0) not in (None, node))
    assert eventually(lambda: disks.answers(node))
    lifecycle.wait_settled(disks)


@pytest.mark.nightly
def test_only_a_flush_keeps_acknowledged_records_of_replicas_that_lose_power_together(
    disks: DockerCluster,
) -> None:
    plain, flushed = own("plain"), own("flushed")
    replicas = {0: [1, 2, 3]}
    topics.create(disks.brokers, plain, assignment=replicas)
    topics.create(disks.brokers, flushed, assignment=replicas, config={"flush.messages": "1"})
    assert all(eventually(lambda t=topic: produce(disks, t, count=1) == 1) for topic in (plain, flushed))  # type: ignore[misc]
    lifecycle.wait_settled(disks)
    assert [produce(disks, topic, count=50) for topic in (plain, flushed)] == [50, 50]
    ends = {topic: disks.kafka.ends(topic, 0)[1] for topic in (plain, flushed)}
    with Injection(disks, power_loss("all", lasting=LONG), topic=plain) as injection:
        for evidence in injection.injected["evidence"]["by_node"].values():
            assert evidence["log_bytes_unflushed"] > 0
            assert evidence["log_bytes_lost"] > 0
    lifecycle.wait_settled(disks)
    assert disks.kafka.ends(plain, 0)[1] < ends[plain] - 49
    assert disks.kafka.ends(flushed, 0)[1] == ends[flushed]

    # Now nothing but the topic that is flushed is written, so a power loss destroys nothing.
    assert produce(disks, flushed, count=50) == 50
    end = disks.kafka.ends(flushed, 0)[1]
    evidence = unproved(Injection(disks, power_loss("all", lasting=LONG), topic=flushed))
    for each in evidence["by_node"].values():
        assert each["log_bytes_unflushed"] == each["log_bytes_lost"] == 0
        assert "nothing unflushed existed" in each["nothing"]
    lifecycle.wait_settled(disks)
    assert disks.kafka.ends(flushed, 0)[1] == end


def test_a_stalled_disk(disks: DockerCluster) -> None:
    assert eventually(lambda: produce(disks, "t", count=20) == 20)
    begun = time.monotonic()
    with Injection(disks, disk_stall("leader", lasting=LONG), topic="t") as injection:
        assert injection.injected["evidence"]["write_waited"] >= 1
        proved = time.monotonic()
        assert produce(disks, "t", count=5, acks=1, limit=5) == 0
        lasted = time.monotonic() - proved
    waited = injection.rows["heal"]["value"]["evidence"]["write_waited"]
    assert 1 + lasted < waited < time.monotonic() - begun
    assert eventually(lambda: produce(disks, "t", count=20) == 20)
    lifecycle.wait_settled(disks)


@pytest.mark.nightly
def test_a_host_without_limits_for_block_devices_is_named(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = disk.SCRIPT.replace("blkio.throttle.write_bps_device", "blkio.none")
    monkeypatch.setattr(disk, "SCRIPT", script)
    why = missing_capabilities(engine, ["throttle"])["throttle"]
    assert "neither blkio.none nor io.max" in str(why)
    with pytest.raises(CapabilityError, match="slow-disk: it needs a limit of a control group"):
        require_capabilities(engine, ["slow-disk"])


@pytest.mark.nightly
def test_a_limit_that_limits_nothing_is_found_by_measuring(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the engine's own call, which reports success."""
    monkeypatch.setattr(capabilities, "write_limit", lambda *_, **__: None)
    assert "it wrote" in str(missing_capabilities(engine, ["throttle"])["throttle"])


@pytest.mark.usefixtures("limits")
def test_a_slow_disk(disks: DockerCluster) -> None:
    """The broker waits for its disk when it must flush."""
    topic = own("slow")
    topics.create(disks.brokers, topic, assignment={0: [1]}, config={"flush.messages": "1"})
    assert eventually(lambda: produce(disks, topic, count=1) == 1)

    with Injection(disks, slow_disk(1, lasting=LONG, mb_per_s=0.5), topic=topic) as injection:
        evidence = injection.injected["evidence"]
        assert evidence["bytes_per_second"] < 750_000 < evidence["bytes_per_second_before"]
        begun = time.monotonic()
        assert produce(disks, topic, count=1, size=1_000_000, acks=1) == 1
        assert time.monotonic() - begun > 1_000_000 / 750_000
    assert injection.rows["heal"]["value"]["evidence"]["bytes_per_second"] > 750_000
    topics.delete(disks.brokers, topic)


NOTHING: dict[str, tuple[Event, str]] = {
    "disk-stall": (disk_stall(3, lasting=LONG), "freeze"),
    "slow-disk": (slow_disk(3, lasting=LONG, mb_per_s=0.5), "throttle"),
    "power-loss": (power_loss(3, lasting=LONG), "shut_down"),
}


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize(
    "name", ["disk-stall", "slow-disk", pytest.param("power-loss", marks=pytest.mark.nightly)]
)
def test_a_fault_that_does_nothing_to_the_disk_is_not_proved(
    disks: DockerCluster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    event, action = NOTHING[name]
    monkeypatch.setattr(Disk, action, lambda *_: None)
    evidence = unproved(Injection(disks, event, topic="t"))
    match name:
        case "disk-stall":
            assert evidence["write_ended"]
        case "slow-disk":
            assert evidence["bytes_per_second"] > 750_000
        case "power-loss":
            assert not evidence["access_refused"]
    lifecycle.wait_settled(disks)
