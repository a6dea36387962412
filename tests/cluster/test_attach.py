"""The same faults work on a compose project, and on containers that a user started by hand."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import Experiment
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker import lifecycle, reaper
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.images import image_for
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from tests.support.compose_project import NEEDS_COMPOSE, composed
from tests.support.real_cluster import wait_until
from workloads.clients.connection import Address
from workloads.reference import Reference

pytestmark = [pytest.mark.cluster, NEEDS_COMPOSE, pytest.mark.nightly]

CUT = "nft 'table inet kafkacheck { chain in { type filter hook input priority -300; tcp dport 1 drop; }; }'"
RULES = "nft list ruleset"

ECHO = Path(__file__).parents[2] / "examples" / "test_echo.py"


@pytest.fixture(scope="module")
def project(engine: Any) -> Iterator[str]:
    with composed(engine, "combined-3.yml") as name:
        yield name


@pytest.fixture
def separate(engine: Any) -> Iterator[str]:
    with composed(engine, "controllers-3.yml") as name:
        yield name


def ready(engine: Any, what: str, *, nodes: int = 3) -> None:
    """Wait until the brokers answer: the project counts as up as soon as its containers run."""

    def answers() -> bool:
        try:
            with attached(engine, what) as cluster:
                return len(cluster.nodes) == nodes
        except (UsageError, InfrastructureError):
            return False

    wait_until(answers, limit=90)


def test_separate_controllers_are_found_by_name(engine: Any, separate: str) -> None:
    """Must be the first test in this file, because all exported clusters have the same ports."""
    ready(engine, f"compose:{separate}", nodes=6)
    with attached(engine, f"compose:{separate}") as cluster:
        assert sorted(cluster.nodes) == [1, 2, 3, 101, 102, 103]
        assert cluster.spec.nodes == (1, 2, 3, 101, 102, 103)
        controller = cluster.controller()
        assert controller in (101, 102, 103)
        cluster.nodes[controller].kill()
        wait_until(lambda: cluster.controller() not in (None, controller))


def test_faults_work_and_no_sidecar_is_left(engine: Any, project: str) -> None:
    ready(engine, f"compose:{project}")
    with attached(engine, f"compose:{project}") as cluster:
        assert sorted(cluster.brokers) == sorted(cluster.nodes) == [1, 2, 3]
        assert cluster.controller() in cluster.nodes
        assert cluster.planes == {"replication": {9092}, "controller": {9093}}
        node, address = cluster.nodes[2], cluster.brokers[2]
        assert node.shell(CUT) == (0, "")
        before = node.incarnation()
        node.kill()
        assert node.state() == "stopped"
        wait_until(lambda: not cluster.serving(2))
        node.start()
        assert node.incarnation() != before
        assert "tcp dport 1 drop" in node.shell(RULES)[1], "the cut came along into the new namespace"
        lifecycle.wait_settled(cluster)
        engine.api.restart(node.container, timeout=1)
        assert "tcp dport 1 drop" in node.shell(RULES)[1], "also when the user restarts the container"
        lifecycle.wait_settled(cluster)
        assert cluster.brokers[2] == address
        cluster.nodes[1].freeze()
        assert cluster.nodes[1].state() == "paused"
        cluster.nodes[3].kill()
        run = cluster.run
    assert run not in reaper.parts_by_run(engine)
    with attached(engine, f"compose:{project}") as again:
        assert again.healthy(), "what was frozen runs, what was killed is started"


def test_a_broker_that_is_still_starting_is_waited_for(engine: Any, project: str) -> None:
    ready(engine, f"compose:{project}")
    engine.api.kill(f"{project}_kafka3_1")
    wait_until(lambda: metadata_views.unfenced(Address("127.0.0.1", 19092)) == {1, 2})
    engine.api.start(f"{project}_kafka3_1")
    with attached(engine, f"compose:{project}") as cluster:
        assert sorted(cluster.brokers) == [1, 2, 3]


@pytest.mark.spark
def test_the_demo_finds_the_same_losses_in_a_compose_project(
    engine: Any, project: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready(engine, f"compose:{project}")
    assert cli.main(["demo", "--attach", f"compose:{project}", "--dir", str(tmp_path)]) == 0
    assert "acknowledged writes are lost" in capsys.readouterr().out


@pytest.mark.spark
def test_a_workload_of_the_user_runs_there_and_is_judged_without_its_file(
    engine: Any, project: str, tmp_path: Path
) -> None:
    ready(engine, f"compose:{project}")
    echo: Any = Reference(module="test_echo", name="Echo", file=str(ECHO)).load()
    with Harness(tmp_path, attach=f"compose:{project}") as harness:
        run = harness.run(Experiment(workload=echo(), duration=1, cooldown=1))
        run.assert_valid()
        text = RunDirectory(run.path).experiment.read_text()
        assert str(ECHO) in text
        RunDirectory(run.path).experiment.write_text(
            text.replace(str(ECHO), "/absent/echo.py").replace("test_echo", "absent")
        )
        with pytest.raises(UsageError, match=r"/absent/echo\.py: no such file"):
            RunDirectory(run.path).read_experiment()
        again = harness.judge(run.path)
        assert again.result == "valid"
        assert again.verdict.exercised.acks == run.verdict.exercised.acks > 0


def test_containers_without_a_cluster_are_refused_with_what_was_tried(engine: Any, project: str) -> None:
    ready(engine, f"compose:{project}")
    for what, message in {
        "compose:absent": f"running projects: .*{project}",
        "kubernetes:x": "expected compose:PROJECT",
        "no-such-container": "there is no container 'no-such-container'",
        f"{project}_kafka1_1": "has broker 2 at 127.0.0.1:19093, broker 3.*none of the given containers runs it",
        ",": "expected compose:PROJECT",
    }.items():
        with pytest.raises(UsageError, match=message), attached(engine, what):
            pass


def test_containers_started_by_a_plain_script(engine: Any) -> None:
    """One broker started by `docker run`, without its own network and without any label of kafkacheck."""
    name, port = f"kctest-{uuid.uuid4().hex[:8]}", 19192
    script = (
        "printf 'process.roles=broker,controller\\nnode.id=7\\ncontroller.quorum.voters=7@localhost:9093\\n"
        "controller.listener.names=C\\nlisteners=C://:9093,P://:9092,O://:9094\\ninter.broker.listener.name=P\\n"
        f"advertised.listeners=P://localhost:9092,O://127.0.0.1:{port}\\nlog.dirs=/tmp/data\\n"
        "listener.security.protocol.map=C:PLAINTEXT,P:PLAINTEXT,O:PLAINTEXT\\n"
        "offsets.topic.replication.factor=1\\n' > /tmp/s.properties\n"
        "java -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format -t AAAAAAAAAAAAAAAAAAAAAA -c /tmp/s.properties\n"
        "exec java -Xmx256m -cp '/opt/kafka/libs/*' kafka.Kafka /tmp/s.properties\n"
    )
    command = ["docker", "run", "-d", "--name", name, "-p", f"127.0.0.1:{port}:9094", "--entrypoint", "sh"]
    subprocess.run([*command, image_for("4.1.1", engine), "-c", script], check=True, capture_output=True)
    try:
        ready(engine, name, nodes=1)
        with attached(engine, name) as cluster:
            assert list(cluster.nodes) == [7]
            assert cluster.spec.attached == {7: "combined"}, "experiments are checked against this"
            assert cluster.planes == {"replication": {9092}, "controller": {9093}}
            cluster.nodes[7].freeze()
            assert not cluster.serving(7)
            cluster.nodes[7].thaw()
            lifecycle.wait_settled(cluster)
    finally:
        subprocess.run(["docker", "rm", "-f", "-v", name], check=True, capture_output=True)
