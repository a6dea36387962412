"""Which containers attach takes for nodes, and what it says of those that it refuses, without an engine."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, NotFound
from kafka.protocol.admin import DescribeClusterRequest, DescribeConfigsRequest, DescribeQuorumRequest

from pytest_kafkacheck.cluster.docker import discovery, given_containers
from pytest_kafkacheck.cluster.docker.discovery import Discovered, discover
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

CLUSTER = "4L6g3nShT-eMCtK--X86sw"
KAFKA = "java -Xmx1g -cp /opt/kafka/libs/* kafka.Kafka config/server.properties"


@dataclass
class Container:
    """What the engine says of it. `files`: by path; `processes`: command lines."""

    name: str
    processes: list[str] = field(default_factory=lambda: [KAFKA])
    files: dict[str, str] = field(default_factory=dict)
    ports: dict[int, int] = field(default_factory=dict)
    status: str = "running"
    exit_code: int = 0
    log: str = ""
    network: str = "shop_default"
    networks: tuple[str, ...] = ("shop_default",)
    command: str = "run"
    environment: tuple[str, ...] = ()
    image: str = "kafka"

    def described(self) -> dict[str, Any]:
        ports = {f"{inside}/tcp": [{"HostPort": str(outside)}] for outside, inside in self.ports.items()}
        running = self.status in ("running", "restarting")
        return {
            "Id": self.name,
            "Name": f"/shop_{self.name}_1",
            "Image": self.image,
            "State": {
                "Status": self.status,
                "Running": running,
                "Paused": False,
                "Restarting": self.status == "restarting",
                "ExitCode": self.exit_code,
            },
            "HostConfig": {"NetworkMode": self.network},
            "NetworkSettings": {
                "Ports": ports,
                "Networks": {each: {"Aliases": [], "IPAddress": ""} for each in self.networks},
            },
            "Config": {
                "Hostname": self.name,
                "Labels": {"com.docker.compose.service": self.name},
                "Env": list(self.environment),
                "Entrypoint": ["/start"],
                "Cmd": [self.command],
                "WorkingDir": "/opt/kafka",
            },
        }


class Engine:
    """Only what discovery asks of it."""

    base_url = "http+docker://localhost"

    def __init__(self, containers: list[Container]) -> None:
        self.by_name = {each.name: each for each in containers}
        self.api = self

    def containers(self, **_: object) -> list[dict[str, Any]]:
        return [{"Id": name, "Labels": {}} for name in self.by_name]

    def inspect_container(self, name: str) -> dict[str, Any]:
        if name not in self.by_name:
            raise NotFound(name)
        return self.by_name[name].described()

    def top(self, name: str, *, ps_args: str) -> dict[str, Any]:  # noqa: ARG002
        rows = [[str(number), line] for number, line in enumerate(self.by_name[name].processes)]
        return {"Titles": ["PID", "COMMAND"], "Processes": rows}

    def get_archive(self, name: str, path: str) -> tuple[list[bytes], None]:
        if path not in self.by_name[name].files:
            raise NotFound(path)
        buffer, data = io.BytesIO(), self.by_name[name].files[path].encode()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            entry = tarfile.TarInfo(path.rpartition("/")[2])
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        return [buffer.getvalue()], None

    def exec_create(self, *_: object, **__: object) -> Any:
        raise APIError("no such program")

    def logs(self, name: str, *, tail: int) -> bytes:  # noqa: ARG002
        return self.by_name[name].log.encode()


def node(
    number: int, *, cluster: str = CLUSTER, settings: Mapping[str, str] | None = None, **more: Any
) -> Container:
    """A combined node with a listener on 909N between brokers, and one on 1909N for clients."""
    found = {
        "process.roles": "broker,controller",
        "controller.listener.names": "C",
        "listeners": f"C://:9093,P://:{9100 + number},O://:9092",
        "advertised.listeners": f"P://kafka{number}:{9100 + number},O://localhost:{19090 + number}",
        "inter.broker.listener.name": "P",
        "log.dirs": f"/data/{number}",
        **(settings or {}),
    }
    more.setdefault("ports", {19090 + number: 9092})
    return Container(
        f"kafka{number}",
        files={
            "/opt/kafka/config/server.properties": "".join(
                f"{key}={value}\n" for key, value in found.items()
            ),
            f"/data/{number}/meta.properties": f"version=1\nnode.id={number}\ncluster.id={cluster}\n",
        },
        **more,
    )


@dataclass
class Kafka:
    """What brokers answer. `at`: node by port of this host; `listed`: node ids of each answer, the last one repeated;
    `settings`: of each node, beside those of `node`."""

    at: dict[int, int]
    listed: list[list[int]] = field(default_factory=lambda: [[1, 2, 3]])
    voters: list[int] = field(default_factory=lambda: [1, 2, 3])
    cluster: str = CLUSTER
    advertised: dict[int, tuple[str, int]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def answer(self, address: Address, request: Any, *, timeout: float) -> Any:  # noqa: ARG002
        if address.port not in self.at or address.host not in ("127.0.0.1", "10.0.0.5"):
            raise ConnectionRefusedError(f"{address} refused")
        here = self.at[address.port]
        if isinstance(request, DescribeClusterRequest):
            nodes = self.listed.pop(0) if len(self.listed) > 1 else self.listed[0]
            brokers = []
            for each in nodes:
                host, port = self.advertised.get(each, ("localhost", 19090 + each))
                brokers.append(SimpleNamespace(broker_id=each, host=host, port=port))
            return SimpleNamespace(cluster_id=self.cluster, brokers=brokers)
        if isinstance(request, DescribeConfigsRequest):
            if request.resources[0].resource_name != str(here):
                return SimpleNamespace(results=[SimpleNamespace(error_code=42, configs=[])])
            configs = [SimpleNamespace(name=key, value=value) for key, value in self.settings.items()]
            return SimpleNamespace(results=[SimpleNamespace(error_code=0, configs=configs)])
        assert isinstance(request, DescribeQuorumRequest)
        voters = [SimpleNamespace(replica_id=each, log_end_offset=1) for each in self.voters]
        partition = SimpleNamespace(
            error_code=0, leader_id=1, leader_epoch=1, high_watermark=1, current_voters=voters
        )
        return SimpleNamespace(error_code=0, topics=[SimpleNamespace(partitions=[partition])])


ALL = {19091: 1, 19092: 2, 19093: 3}


@pytest.fixture
def find(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(given_containers, "is_stopped_by_signal", lambda *_: False)

    def discovered(containers: list[Container], kafka: Kafka, **options: Any) -> Discovered:
        monkeypatch.setattr(discovery, "ask", kafka.answer)
        return discover(Engine(containers), "compose:shop", **{"limit": 0, **options})

    return discovered


def nodes() -> list[Container]:
    return [node(each) for each in (1, 2, 3)]


def places(found: Discovered) -> dict[int, str]:
    return {number: str(each["Id"]) for number, each in found.containers.items()}


def test_each_node_is_the_container_whose_log_directory_says_so(find: Any) -> None:
    found = find(nodes(), Kafka(ALL))
    assert places(found) == {1: "kafka1", 2: "kafka2", 3: "kafka3"}
    assert found.voters == {1, 2, 3}
    assert found.planes == {"replication": {9101, 9102, 9103}, "controller": {9093}}, "ports may differ"
    assert found.session_timeout == 9
    assert find(nodes(), Kafka(ALL, settings={"broker.session.timeout.ms": "6000"})).session_timeout == 6


def test_a_proxy_that_publishes_the_ports_of_all_brokers_is_no_node(find: Any) -> None:
    proxy = Container(
        "proxy", processes=["/bin/toxiproxy -config x"], ports={each: each for each in ALL}, image="proxy"
    )
    behind = [node(each, ports={}) for each in (1, 2, 3)]
    assert places(find([proxy, *behind], Kafka(ALL))) == {1: "kafka1", 2: "kafka2", 3: "kafka3"}
    with pytest.raises(UsageError, match=r"proxy \(shop_proxy_1\)") as refused:
        find([proxy], Kafka(ALL))
    assert "no container runs Kafka" in str(refused.value)


def test_a_cluster_of_another_project_at_the_same_port_is_not_taken_for_this_one(find: Any) -> None:
    with pytest.raises(
        UsageError, match=f"19091: it is of cluster another, and these containers are of {CLUSTER}"
    ):
        find(nodes(), Kafka(ALL, cluster="another"))


def test_another_broker_at_the_address_is_not_taken_for_it(find: Any) -> None:
    with pytest.raises(UsageError, match=r"another broker than 3 answers at 127\.0\.0\.1:19093"):
        find(nodes(), Kafka({**ALL, 19093: 1}))


def test_a_set_up_container_of_the_same_image_is_no_node(find: Any) -> None:
    done = Container("init", processes=[], status="exited", exit_code=1, command="create-topics")
    waiting = Container("tools", processes=["sleep infinity"], command="sleep infinity")
    shell = Container(
        "shell", processes=["sh -c exec java kafka.Kafka config/server.properties"], command="x"
    )
    assert len(places(find([*nodes(), done, waiting, shell], Kafka(ALL)))) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"network": "host"}, r"kafka2 \(shop_kafka2_1\) use the network of the host"),
        ({"network": "container:abc"}, r"kafka2 .* use the network of another container"),
        ({"networks": ("back", "front")}, r"in several: kafka2 \(shop_kafka2_1\): back, front"),
        (
            {
                "status": "exited",
                "exit_code": 1,
                "log": "INFO start\nERROR Failed to lock /data\n\tat kafka.X\n",
            },
            r"kafka2 \(shop_kafka2_1\) exited with status 1: its last line is 'ERROR Failed to lock /data'",
        ),
        ({"status": "created"}, r"kafka2 \(shop_kafka2_1\) was created and never started"),
        (
            {"status": "restarting", "exit_code": 3},
            r"kafka2 .* status 3, and the engine starts it again and again",
        ),
        ({"processes": [KAFKA, KAFKA]}, r"kafka2 \(shop_kafka2_1\) runs 2 Kafka processes"),
    ],
)
def test_what_stands_in_the_way_is_named_with_the_services(
    find: Any, change: dict[str, Any], said: str
) -> None:
    if change.get("status", "running") != "running":
        change = {**change, "processes": []}
    with pytest.raises(UsageError, match=said):
        find([node(1), node(2, **change), node(3)], Kafka(ALL), limit=30)


def test_two_containers_with_one_log_directory_are_named(find: Any) -> None:
    twin = node(2)
    twin.files["/data/2/meta.properties"] = f"node.id=1\ncluster.id={CLUSTER}\n"
    with pytest.raises(UsageError, match=r"kafka1 .*, kafka2 .* both have the log directory of node 1"):
        find([node(1), twin, node(3)], Kafka(ALL))


def test_two_clusters_are_told_apart(find: Any) -> None:
    with pytest.raises(UsageError, match=r"of 2 clusters: .*: kafka1 .*, kafka2 .*; other: kafka3"):
        find([node(1), node(2), node(3, cluster="other")], Kafka(ALL))


def test_brokers_that_publish_nothing_are_named_with_what_they_advertise(find: Any) -> None:
    with pytest.raises(
        UsageError, match=r"kafka1 \(shop_kafka1_1\) publishes no port and advertises P://kafka1:9101"
    ):
        find([node(each, ports={}) for each in (1, 2, 3)], Kafka({}))
    proxy = Container("proxy", processes=[], status="exited", exit_code=2, image="proxy")
    with pytest.raises(UsageError, match=r"proxy \(shop_proxy_1\) exited with status 2"):
        find([proxy, *(node(each, ports={}) for each in (1, 2, 3))], Kafka({}))


def test_a_published_port_that_is_not_advertised_is_named_with_its_mapping(find: Any) -> None:
    scaled = [node(each, ports={32770 + each: 9092}) for each in (1, 2, 3)]
    at = {32771: 1, 32772: 2, 32773: 3}
    with pytest.raises(
        UsageError, match=r"broker 1 advertises localhost:19091.*kafka1 .* publishes 32771→9092"
    ):
        find(scaled, Kafka(at))


def test_addresses_that_only_the_user_knows_are_given(find: Any) -> None:
    hidden = [node(each, ports={}) for each in (1, 2, 3)]
    kafka = Kafka(ALL, advertised={each: ("10.0.0.5", 19090 + each) for each in (1, 2, 3)})
    given = {each: Address("10.0.0.5", 19090 + each) for each in (1, 2, 3)}
    assert find(hidden, kafka, addresses=given).addresses == given
    with pytest.raises(
        UsageError, match=r"broker 3, and the map has addresses of 1, 2 only; add 3=HOST:PORT"
    ):
        find(hidden, kafka, addresses={each: given[each] for each in (1, 2)})
    wrong = {**given, 2: given[1]}
    with pytest.raises(UsageError, match=r"another broker than 2 answers at 10\.0\.0\.5:19091"):
        find(hidden, kafka, addresses=wrong)


@pytest.mark.parametrize("host", ["localhost", "proxy"])
def test_brokers_that_do_not_reach_each_other_directly_are_named_with_what_they_advertise(
    find: Any, host: str
) -> None:
    changed = [
        node(
            each, settings={"advertised.listeners": f"P://{host}:{9100 + each},O://localhost:{19090 + each}"}
        )
        for each in (1, 2, 3)
    ]
    with pytest.raises(UsageError, match=rf"to each other broker 1 {host}:9101, broker 2 {host}:9102"):
        find(changed, Kafka(ALL))


def test_a_plane_whose_ports_another_node_uses_for_the_other_plane_cannot_be_cut(find: Any) -> None:
    mixed = node(2, settings={"listeners": "C://:9101,P://:9102,O://:9092"})
    assert find([node(1), mixed, node(3)], Kafka(ALL)).planes == {}


def test_missing_containers_are_named(find: Any) -> None:
    with pytest.raises(
        UsageError, match=r"broker 3 at localhost:19093, and none of the given containers runs it"
    ):
        find([node(1), node(2)], Kafka(ALL))
    with pytest.raises(
        UsageError, match=r"nodes 4 vote in the quorum, and none of the given containers runs them"
    ):
        find(nodes(), Kafka(ALL, voters=[1, 2, 3, 4]))


def test_a_node_that_has_not_joined_yet_is_waited_for(find: Any) -> None:
    kafka = Kafka(ALL, listed=[[], [1, 2], [1, 2], [1, 2], [1, 2, 3]])
    assert len(places(find(nodes(), kafka, limit=30))) == 3
    with pytest.raises(
        InfrastructureError, match=r"node 3 in kafka3 \(shop_kafka3_1\) runs Kafka and is no broker"
    ):
        find(nodes(), Kafka(ALL, listed=[[1, 2]], voters=[1, 2]))
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:19091: it knows no broker yet"):
        find(nodes(), Kafka(ALL, listed=[[]]))
