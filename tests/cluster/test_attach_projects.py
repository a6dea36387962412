"""Compose projects as people have them: found, or refused at once with the reason; and left as they were."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nemesis.faults.kill import kill
from nemesis.faults.partition import partition
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.attach_lease import leases
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from tests.support.compose_project import NEEDS_COMPOSE
from tests.support.foreign_cluster import free_ports
from tests.support.kafka_projects import brokers, container, project, wait_log
from tests.support.real_cluster import wait_until
from workloads.clients.connection import Address

pytestmark = [pytest.mark.cluster, NEEDS_COMPOSE]

RELAY = """use IO::Socket::INET; use IO::Select; $SIG{CHLD} = "IGNORE";
for (@ARGV) {
  my ($port, $host, $to) = split /:/; next if fork;
  my $server = IO::Socket::INET->new(LocalPort => $port, Listen => 99, ReuseAddr => 1) or die;
  while (my $in = $server->accept) {
    next if fork;
    my $out = IO::Socket::INET->new("$host:$to") or exit;
    my $both = IO::Select->new($in, $out);
    while (my @ready = $both->can_read) {
      for (@ready) { sysread($_, my $data, 65536) or exit; syswrite($_ == $in ? $out : $in, $data) }
    }
  }
}
sleep 1 while 1;"""
"""A TCP proxy: arguments such as 19092:kafka1:9094."""


def ids(engine: Any, name: str) -> dict[str, tuple[str, str]]:
    """(id, start of its process) of each running container of a project."""
    found = engine.api.containers(
        filters={"label": f"com.docker.compose.project={name}", "status": "running"}
    )
    described = [engine.api.inspect_container(each["Id"]) for each in found]
    return {each["Name"]: (each["Id"], each["State"]["StartedAt"]) for each in described}


def own_topics(address: Address) -> set[str]:
    return {name for name, _ in metadata_views.metadata(address, None) if not name.startswith("__")}


def helpers(engine: Any, name: str) -> list[str]:
    """Containers in the networks of a project's containers, and claims of their leases."""
    found = engine.api.containers(all=True, filters={"label": f"com.docker.compose.project={name}"})
    networks = {f"container:{each['Id']}" for each in found}
    claims = engine.api.volumes(filters={"label": reaper.CLAIM})["Volumes"] or ()
    return [
        *(
            each["Id"]
            for each in engine.api.containers(all=True)
            if each["HostConfig"]["NetworkMode"] in networks
        ),
        *(
            each["Name"]
            for each in claims
            if any(container["Id"] in each["Labels"][reaper.CLAIM] for container in found)
        ),
    ]


@pytest.fixture(scope="module")
def shop(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two combined nodes with Kafka's default timings, dynamic voters, and ports between brokers that differ. The
    engine starts again what ends. A container with the brokers' image has made topics and ended."""
    services, voters = brokers(2), []
    for node, service in enumerate(services.values(), 1):
        environment, voter = service["environment"], f"{node}@kafka{node}:9093"
        voters.append(f"{voter}:{('jBNH0hlQrvOVB9tN65dOTQ', 'zr0t5IbnXFrYM32iL7o4JQ')[node - 1]}")
        for name in ("KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS"):
            environment[name] = environment[name].replace(":9092", f":1909{node}")
        del environment["KAFKA_CONTROLLER_QUORUM_VOTERS"]
        environment["KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS"] = "kafka1:9093,kafka2:9093"
        service["restart"] = "always"
    for service in services.values():
        service["environment"]["FORMAT"] = f"--initial-controllers {','.join(voters)}"
    init = {"entrypoint": ["sh", "-c", "exit 1"]}
    with project(engine, tmp_path_factory.mktemp("shop"), {**services, "init": init}) as name:
        wait_log(engine, name, services)
        yield name


def test_dynamic_voters_and_ports_that_differ(engine: Any, shop: str) -> None:
    before = ids(engine, shop)
    with attached(engine, f"compose:{shop}") as cluster:
        assert cluster.spec.attached == {1: "combined", 2: "combined"}
        assert cluster.planes == {"replication": {19091, 19092}, "controller": {9093}}
        for plane, ports in cluster.planes.items():
            event = partition("controller", plane=plane, lasting=3)  # type: ignore[arg-type]
            with cluster.fault(event) as fault:
                assert {each["port"] for each in fault.evidence["probes"]} == ports
        address = cluster.brokers[1]
        assert own_topics(address) == set(), "the topic of the check is gone"
    assert ids(engine, shop) == before
    assert helpers(engine, shop) == []


@pytest.mark.nightly
def test_a_kill_holds_where_the_engine_starts_again_what_ends(engine: Any, shop: str) -> None:
    """The heal's proof says so where something else starts the broker early, and the block then raises."""
    with attached(engine, f"compose:{shop}") as cluster, cluster.fault(kill("2", lasting=4)) as fault:
        fault.wait_healed()
    assert len(ids(engine, shop)) == 2


SESSION = """
import sys
from pathlib import Path
from pytest_kafkacheck import AppendLog, Experiment, pause
from pytest_kafkacheck.experiment.harness import Harness
load = AppendLog(partitions=1, replication_factor=2, rate=50)
with Harness(Path(sys.argv[2]), attach=sys.argv[1]) as harness:
    harness.record(Experiment(workload=load, faults=[pause("leader", at=1, lasting=300)]))
"""


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_a_session_that_ends_early_leaves_the_project_as_it_was(
    engine: Any, shop: str, tmp_path: Path, ending: str
) -> None:
    before = ids(engine, shop)
    session = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SESSION, f"compose:{shop}", str(tmp_path)]
    )
    try:
        wait_until(lambda: _paused(engine, shop) or session.poll() is not None, limit=120)
        assert session.poll() is None
        with (
            pytest.raises(UsageError, match=f"in use by process {session.pid} on "),
            attached(engine, f"compose:{shop}"),
        ):
            pass
        session.send_signal(getattr(signal, ending))
        session.wait(120)
    finally:
        session.kill()
        session.wait()
    wait_until(lambda: not _paused(engine, shop), limit=30)
    with attached(engine, f"compose:{shop}") as cluster:  # which waits for the guardian
        assert own_topics(cluster.brokers[1]) == set()
        assert cluster.healthy()
    assert ids(engine, shop) == before
    assert helpers(engine, shop) == []


def _paused(engine: Any, name: str) -> list[Any]:
    label = f"com.docker.compose.project={name}"
    found: list[Any] = engine.api.containers(filters={"label": label, "status": "paused"})
    return found


def test_a_second_session_is_refused_in_one_sentence(engine: Any, shop: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from pytest_kafkacheck import AppendLog, Experiment\n"
        "def test_it(kafkacheck):\n    kafkacheck(Experiment(workload=AppendLog()))\n"
    )
    with leases(engine, f"compose:{shop}", owner=reaper.labels("first"), mends=False):
        second = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-n0",
                "-q",
                "--kafkacheck-attach",
                f"compose:{shop}",
                "test_it.py",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert second.returncode == 1
    assert f"the cluster compose:{shop} is in use by process " in second.stdout
    assert len(second.stdout.splitlines()) < 10, second.stdout


@pytest.mark.nightly
def test_a_map_names_addresses_that_brokers_do_not_advertise(
    engine: Any, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with attached(engine, f"compose:{shop}") as cluster:
        known = dict(cluster.brokers)
    swapped = f"1={known[2]},2={known[1]}"
    command = ["cluster", "fault", f"compose:{shop}", "pause", "1", "--lasting", "1"]
    assert cli.main([*command, "--attach-map", swapped]) == cli.USAGE
    assert f"another broker than 1 answers at {known[2]}" in capsys.readouterr().err
    assert cli.main([*command, "--attach-map", f"1={known[1]},2={known[2]}"]) == cli.AS_EXPECTED
    assert cli.main([*command, "--attach-map", "1:9092"]) == cli.USAGE
    assert "'1:9092': expected NODE=HOST:PORT" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_proxy_that_publishes_all_ports_is_never_touched(engine: Any, tmp_path: Path) -> None:
    services = brokers(2)
    ports = [int(service.pop("ports")[0].split(":")[1]) for service in services.values()]
    routes = [f"{port}:kafka{node}:9094" for node, port in enumerate(ports, 1)]
    proxy = {
        "image": agent_image(),
        "entrypoint": ["perl", "-e", RELAY.replace("$", "$$"), *routes],  # compose has variables of its own
        "ports": [f"127.0.0.1:{port}:{port}" for port in ports],
    }
    with project(engine, tmp_path, {**services, "proxy": proxy}) as name:
        wait_log(engine, name, services)
        before = ids(engine, name)
        with attached(engine, f"compose:{name}") as cluster:
            assert {node.container for node in cluster.nodes.values()} == {
                container(engine, name, each) for each in services
            }
            with cluster.fault(kill("controller", lasting=2)) as fault:
                (killed,) = fault.nodes
                fault.wait_healed()
        after = ids(engine, name)
    changed = {each for each in before if before[each] != after[each]}
    assert changed == {f"/{name}_kafka{killed}_1"}


@pytest.mark.nightly
def test_brokers_that_advertise_localhost_to_each_other(
    engine: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    services = brokers(2)
    for node, service in enumerate(services.values(), 1):
        environment = service["environment"]
        advertised = environment["KAFKA_ADVERTISED_LISTENERS"].replace(f"kafka{node}:", "localhost:")
        environment["KAFKA_ADVERTISED_LISTENERS"] = advertised
    with project(engine, tmp_path, services) as name:
        wait_log(engine, name, services)
        with (
            pytest.raises(UsageError, match="to each other broker 1 localhost:9092, broker 2 localhost:9092"),
            attached(engine, f"compose:{name}"),
        ):
            pass
        port = services["kafka1"]["ports"][0].split(":")[1]
        assert cli.main(["audit", "--bootstrap", f"localhost:{port}", "--json", "-"]) in (
            cli.AS_EXPECTED,
            cli.NOT_AS_EXPECTED,
        )
        assert "the brokers' defaults" in json.dumps(json.loads(capsys.readouterr().out)), "there is no topic"


@pytest.mark.nightly
def test_brokers_that_do_not_reach_each_other_are_found_by_a_record(engine: Any, tmp_path: Path) -> None:
    """Their settings look right: only a record that both have to store shows it."""
    services = brokers(2, CONTROLLER_QUORUM_VOTERS="1@kafka1:9093")
    services["kafka1"]["extra_hosts"] = ["kafka2:192.0.2.1"]
    services["kafka2"]["environment"] |= {
        "KAFKA_PROCESS_ROLES": "broker",
        "KAFKA_LISTENERS": "INTERNAL://:9092,EXTERNAL://:9094",
    }
    with project(engine, tmp_path, services) as name:
        wait_log(engine, name, services)
        with (
            pytest.raises(
                InfrastructureError, match=r"broker 2 leads, stored by all .* ISR is \[1, 2\] of \[2, 1\]"
            ),
            attached(engine, f"compose:{name}", limit=5),
        ):
            pass
        address = Address("127.0.0.1", int(services["kafka1"]["ports"][0].split(":")[1]))
        assert own_topics(address) == set()


@pytest.mark.nightly
def test_one_volume_for_all(engine: Any, tmp_path: Path) -> None:
    services = brokers(2)
    for service in services.values():
        service["volumes"] = ["all:/data"]
    with project(engine, tmp_path, services, more={"volumes": {"all": {}}}) as name:
        wait_until(lambda: len(ids(engine, name)) == 1)
        with (
            pytest.raises(
                UsageError, match=r"exited with status 1: its last line is .*Stored node id \d doesn"
            ),
            attached(engine, f"compose:{name}"),
        ):
            pass


@pytest.mark.nightly
def test_the_network_of_the_host(engine: Any, tmp_path: Path) -> None:
    controller, internal, external = free_ports(3)
    services = brokers(
        1,
        CONTROLLER_QUORUM_VOTERS=f"1@127.0.0.1:{controller}",
        LISTENERS=f"CONTROLLER://127.0.0.1:{controller},INTERNAL://127.0.0.1:{internal},EXTERNAL://127.0.0.1:{external}",
        ADVERTISED_LISTENERS=f"INTERNAL://127.0.0.1:{internal},EXTERNAL://127.0.0.1:{external}",
    )
    del services["kafka1"]["ports"]
    services["kafka1"]["network_mode"] = "host"
    with project(engine, tmp_path, services) as name:
        wait_log(engine, name, services)
        with (
            pytest.raises(UsageError, match=rf"kafka1 \({name}_kafka1_1\) use the network of the host"),
            attached(engine, f"compose:{name}"),
        ):
            pass


@pytest.mark.nightly
def test_no_ports_and_ports_that_are_not_advertised(engine: Any, tmp_path: Path) -> None:
    """One broker publishes nothing, the other one another port than it advertises, as with --scale."""
    services, (port,) = brokers(2), free_ports(1)
    del services["kafka1"]["ports"]
    services["kafka2"]["ports"] = [f"127.0.0.1:{port}:9094"]
    with project(engine, tmp_path, services) as name:
        wait_log(engine, name, services)
        said = rf"broker \d advertises localhost:\d+.*kafka1 .* publishes no port.*kafka2 .* publishes {port}→9094"
        with pytest.raises(UsageError, match=said), attached(engine, f"compose:{name}"):
            pass
