"""Faults around a test's own code, on a real cluster."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from contextlib import ExitStack

import pytest

from pytest_kafkacheck import AppendLog, configure, corrupt, isolate, pause, restart
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from tests.support.fault_run import connects, produce
from tests.support.real_cluster import own, wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def orders(cluster: DockerCluster) -> str:
    """A topic that no workload knows."""
    name = own(f"orders-{secrets.token_hex(4)}")  # led by broker 1, whatever an earlier test did
    topics.create(cluster.brokers, name, assignment={0: [1, 2, 3]})
    wait_until(lambda: cluster.leader(name, 0) is not None)
    return name


def test_a_fault_lasts_as_long_as_its_block(cluster: DockerCluster, orders: str) -> None:
    leader = cluster.leader(orders, 0)
    assert leader is not None
    other = next(node for node in cluster.nodes if node != leader)
    with cluster.fault(isolate(f"leader:{orders}-0")) as fault:
        assert fault.nodes == (leader,)
        assert fault.evidence["dropped"]
        assert not connects(cluster, leader, other)
    assert connects(cluster, leader, other)
    cluster.wait_settled()


def test_the_end_of_a_fault_leaves_the_one_around_it(cluster: DockerCluster) -> None:
    with cluster.fault(isolate(1)):
        with cluster.fault(pause(2)) as outer, cluster.fault(pause(2)) as inner:
            assert (outer.nodes, inner.nodes) == ((2,), (2,))
        assert cluster.nodes[2].state() == "running"
        with cluster.nemesis([isolate(2, lasting=600)]) as nemesis:
            wait_until(lambda: nemesis.effective() == {"isolate-1": True})
            assert not connects(cluster, 2, 3)
        assert connects(cluster, 2, 3)
        assert not connects(cluster, 1, 2)
    assert connects(cluster, 1, 2)
    cluster.wait_settled()


@pytest.mark.nightly
def test_blocks_may_end_in_any_order(cluster: DockerCluster) -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(cluster.fault(pause(2)))
        second.enter_context(cluster.fault(pause(2)))
        first.close()
        assert cluster.nodes[2].state() == "paused"
        second.close()
        assert cluster.nodes[2].state() == "running"
    cluster.wait_settled()


def test_faults_that_cannot_be_combined_are_refused(cluster: DockerCluster, orders: str) -> None:
    """Each would restore at its end what it found."""
    with cluster.fault(configure({"retention.ms": "1000000"}, f"topic:{orders}")):
        again = configure({"retention.ms": "2000000"}, f"topic:{orders}")
        with (
            pytest.raises(UsageError, match=r"'configure-1' and 'configure-0': .* each restores at its end"),
            cluster.fault(again),
        ):
            pytest.fail("the block began")


@pytest.mark.nightly
def test_an_experiment_within_a_fault_is_refused(
    kafkacheck: Callable[[Experiment], Run], kafkacheck_cluster: DockerCluster
) -> None:
    """At its end it would heal the fault around it."""
    with kafkacheck_cluster.fault(isolate(1)):
        with pytest.raises(UsageError, match=r"cannot begin within the block of a fault \(isolate-0\)"):
            kafkacheck(Experiment(workload=AppendLog(), cluster=kafkacheck_cluster.spec))
        assert not connects(kafkacheck_cluster, 1, 2)
    assert connects(kafkacheck_cluster, 1, 2)


def test_a_fault_is_healed_when_its_block_raises(cluster: DockerCluster) -> None:
    def strike() -> None:
        with cluster.fault(pause(2)):
            assert cluster.nodes[2].state() == "paused"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        strike()
    assert cluster.nodes[2].state() == "running"
    cluster.wait_settled()


def test_a_schedule_is_carried_out_beside_its_block(cluster: DockerCluster, orders: str) -> None:
    assert produce(cluster, orders) == 50
    events = [
        corrupt(f"leader:{orders}-0", at=0.5),
        pause(3, at=0.5, lasting=1),
        isolate("one", at=600, lasting=1),
    ]
    with pytest.raises(UsageError, match=r"event 'corrupt-0': say for how many seconds, such as lasting=8"):
        cluster.nemesis(events).__enter__()
    events[0] = corrupt(f"leader:{orders}-0", at=0.5, lasting=600)
    leader = cluster.leader(orders, 0)
    with cluster.nemesis(events, seed=3) as nemesis:
        wait_until(lambda: cluster.leader(orders, 0) not in (leader, None))
        wait_until(lambda: len(nemesis.effective()) == 2)
    assert nemesis.effective() == {"corrupt-0": True, "pause-1": True, "isolate-2": False}, nemesis.rows
    skipped = [row["value"]["evidence"] for row in nemesis.rows if row["value"]["event"] == "isolate-2"]
    assert skipped[0] == {"skipped": "the run was stopped before its time"}
    assert {node.state() for node in cluster.nodes.values()} == {"running"}
    cluster.wait_settled()


def test_what_makes_no_sense_is_refused(cluster: DockerCluster) -> None:
    for event, said in [
        (isolate("leader"), "name a topic, such as 'leader:orders-0'"),
        (isolate(7), "the cluster has no node 7; allowed: 1, 2, 3"),
        (isolate(1, at=2), "leave out at and after"),
        (isolate(1, after="isr-shrink"), "leave out at and after"),
    ]:
        with pytest.raises(UsageError, match=said), cluster.fault(event):
            pytest.fail("the block began")
    with pytest.raises(
        UsageError, match=r"expected one event such as isolate\('leader:orders-0'\), got 'isolate'"
    ):
        cluster.fault("isolate").__enter__()  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="name a topic, such as 'isr-shrink:orders-0'"):
        cluster.nemesis([restart(1, after="isr-shrink")]).__enter__()


def command(cluster: DockerCluster, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest_kafkacheck", "cluster", "fault", cluster.run, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_ctrl_c_heals_the_fault_of_the_command_line(cluster: DockerCluster) -> None:
    with command(cluster, "isolate", "1") as endless:
        assert endless.stdout is not None
        lines = []
        for line in endless.stdout:
            lines.append(line)
            if "healing with Ctrl-C" in line:
                break
        else:
            pytest.fail("".join(lines))
        assert not connects(cluster, 1, 2)
        endless.send_signal(signal.SIGINT)
        output, _ = endless.communicate(timeout=120)
    assert (endless.returncode, output.split()[-1:]) == (0, ["healed"])
    assert connects(cluster, 1, 2)
    cluster.wait_settled()


@pytest.mark.nightly
def test_a_topic_that_does_not_exist_is_named(cluster: DockerCluster) -> None:
    with pytest.raises(
        InfrastructureError, match=r"isolate leader:none-0 .* did not take effect: .*none-0 has no"
    ):
        cluster.fault(isolate("leader:none-0")).__enter__()


def test_a_fault_that_the_host_cannot_do_is_refused_before_it_begins(
    cluster: DockerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require(faults: Collection[str]) -> None:
        raise InfrastructureError(f"no {', '.join(faults)} here")

    monkeypatch.setattr(cluster, "require_faults", require)
    with pytest.raises(InfrastructureError, match="no pause here"):
        cluster.fault(pause(1)).__enter__()
    assert cluster.nodes[1].state() == "running"
