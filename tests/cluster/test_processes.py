"""Clusters without an engine: the demo's verdicts, every fault that they can do, and nothing left at their end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import pytest_kafkacheck as api
from nemesis.event import Event
from nemesis.tasks import wait_until
from pytest_kafkacheck.cli.demo import experiments
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.kafka import topics
from pytest_kafkacheck.cluster.processes.boot import ProcessCluster, running
from pytest_kafkacheck.cluster.spec.spec import DEFAULT_VERSION, ClusterSpec
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.setup.processes import ensure_kafka_files, require_faults

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

TOPIC = "moved"


@pytest.fixture(scope="module")
def kafka() -> Path:
    return ensure_kafka_files(DEFAULT_VERSION, print)


@pytest.fixture(scope="module")
def processes(kafka: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    with running(
        ClusterSpec(), run="processes", logs=tmp_path_factory.mktemp("logs"), kafka=kafka
    ) as cluster:
        topics.create(cluster.brokers, TOPIC, assignment={0: [1, 2, 3]})
        yield cluster


@pytest.mark.nightly
def test_an_isolated_leader_loses_writes_with_one_acknowledgement_and_none_with_all(tmp_path: Path) -> None:
    losing, keeping = experiments()
    with Harness(tmp_path, say=print, engine="processes") as harness:
        harness.run(losing).assert_invalid("lost-write")
        harness.run(keeping).assert_valid()


def test_a_leader_is_cut_off_and_comes_back(processes: ProcessCluster) -> None:
    before = processes.leader(TOPIC, 0)
    with processes.fault(api.isolate(f"leader:{TOPIC}-0")) as fault:
        assert fault.nodes == (before,)
        assert wait_until(lambda: processes.leader(TOPIC, 0) not in (None, before), limit=60)
    processes.wait_settled()
    assert processes.healthy()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "event",
    [
        api.partition(((1,), (2, 3))), api.delay(1, ms=50), api.loss(1, percent=30), api.bandwidth(1, kbit=2000),
        api.duplicate(1), api.reorder(1), api.reset(1), api.kill(2), api.stop(2), api.restart(2), api.pause(3),
        api.wipe(3), api.corrupt(3),
    ],
    ids=lambda event: event.fault.name,
)  # fmt: skip
def test_each_kind_of_fault_is_proved_and_healed(processes: ProcessCluster, event: Event) -> None:
    require_faults([event.fault.name])
    with processes.fault(event):
        pass
    processes.wait_settled()
    assert processes.healthy()


@pytest.mark.nightly
def test_dedicated_controllers_and_a_rolling_restart(kafka: Path, tmp_path: Path) -> None:
    spec = ClusterSpec(brokers=2, controllers=1)
    with running(spec, run="dedicated", logs=tmp_path, kafka=kafka) as cluster:
        before = {node.id: node.incarnation() for node in cluster.nodes.values()}
        lifecycle.rolling_restart(cluster)
        assert {node.id for node in cluster.nodes.values() if node.incarnation() != before[node.id]} == {
            1,
            2,
            101,
        }


def test_clusters_beside_each_other_have_networks_of_their_own(kafka: Path, tmp_path: Path) -> None:
    spec = ClusterSpec(brokers=1)
    with (
        running(spec, run="one", logs=tmp_path, kafka=kafka) as one,
        running(spec, run="other", logs=tmp_path, kafka=kafka) as other,
    ):
        assert one.nodes[1].addresses != other.nodes[1].addresses
        one.nodes[1].kill()
        assert (one.nodes[1].state(), one.nodes[1].exit_code()) == ("stopped", 137)
        assert other.healthy()


SESSION = """
import json, psutil, sys, time
from pathlib import Path
from pytest_kafkacheck.cluster.processes.boot import running
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

with running(ClusterSpec(brokers=1), run="killed", logs=Path(sys.argv[1]), kafka=Path(sys.argv[2])) as cluster:
    cluster.nodes[1].shell("true")  # an agent runs
    started = [each.pid for each in psutil.Process().children(recursive=True)]
    print(json.dumps({"started": started, "address": cluster.nodes[1].addresses[0]}), flush=True)
    time.sleep(100)
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_nothing_is_left_of_a_session_that_is_killed(name: str, kafka: Path, tmp_path: Path) -> None:
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(tmp_path), str(kafka)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert session.stdout is not None
    with session:
        found = json.loads(session.stdout.readline())
        gateway = found["address"].rpartition(".")[0] + ".1/"
        assert len(found["started"]) > 5
        assert gateway in _addresses()
        assert list(tmp_path.glob("kafkacheck-*"))
        session.send_signal(signal.Signals[name])
        session.wait(60)
    assert wait_until(lambda: not any(map(psutil.pid_exists, found["started"])), limit=30)
    assert wait_until(lambda: gateway not in _addresses(), limit=30)
    assert wait_until(lambda: not list(tmp_path.glob("kafkacheck-*")), limit=30)


def _addresses() -> str:
    return subprocess.run(["ip", "-brief", "address"], capture_output=True, text=True, check=True).stdout


def test_what_it_cannot_do_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match="clock: its nodes have this machine's clock"):
        require_faults(["isolate", "clock"])
    with Harness(tmp_path, engine="processes") as harness:
        with pytest.raises(
            api.UsageError, match=r"ClusterSpec\(disk_mb=64\): not in a cluster of plain processes"
        ):
            harness.check(api.Experiment(workload=api.AppendLog(), cluster=ClusterSpec(disk_mb=64)))
        with pytest.raises(CapabilityError, match="cpu: its nodes have no control groups of their own"):
            harness.check(api.Experiment(workload=api.AppendLog(), faults=[api.cpu(1, at=1, lasting=1)]))
    with pytest.raises(api.UsageError, match="clusters of plain processes end with their session"):
        Harness(tmp_path, engine="processes", reuse=True)
