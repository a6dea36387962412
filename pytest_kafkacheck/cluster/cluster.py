"""A running cluster in Docker: start, look, stop."""

from __future__ import annotations

import contextlib
import io
import logging
import secrets
import socket
import tarfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

from docker.errors import APIError
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from pytest_kafkacheck.cluster import ready, reaper, views
from pytest_kafkacheck.cluster.agent import Agent
from pytest_kafkacheck.cluster.engine import require_image, require_memory
from pytest_kafkacheck.cluster.node import DockerNode
from pytest_kafkacheck.cluster.properties import (
    CONTROLLER_PORT,
    EXTERNAL_PORT,
    INTERNAL_PORT,
    Place,
    host_of,
    render,
)
from pytest_kafkacheck.cluster.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.setup.image import agent_image, compose_dir, image_for
from workloads.clients.questions import Leadership
from workloads.clients.raw import Address

log = logging.getLogger(__name__)

# `exec` makes java the container's first process: signals, the freezer and the exit status are the broker's.
START = """
classes='/opt/kafka/libs/*'
java -Xmx128m -XX:TieredStopAtLevel=1 -cp "$classes" kafka.tools.StorageTool \
  format --ignore-formatted -t "$CLUSTER_ID" -c /k/server.properties || exit 3
exec java -Xms256m -Xmx"$HEAP"m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
  -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true \
  -Dlog4j2.configurationFile=/k/log4j2.yaml -Dkafka.logs.dir=/k/logs -cp "$classes" kafka.Kafka /k/server.properties
"""


class DockerCluster:
    """Implements ``nemesis.cluster.Cluster``. Made by `running`, which also removes it."""

    def __init__(self, client: Any, *, spec: ClusterSpec, run: str, nodes: Mapping[int, DockerNode]) -> None:
        self.spec = spec
        self.run = run
        self.nodes = nodes
        self._client = client

    @property
    def brokers(self) -> dict[int, Address]:
        """Where clients on this host reach each broker."""
        return {node.id: node.client_address for node in self.nodes.values()}

    @property
    def bootstrap(self) -> list[str]:
        return [f"{host}:{port}" for host, port in self.brokers.values()]

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        """TCP ports by what they carry between nodes."""
        return {"replication": frozenset({INTERNAL_PORT}), "controller": frozenset({CONTROLLER_PORT})}

    def leader(self, topic: str, partition: int) -> int | None:
        view = self._newest(topic, partition)
        return view.leader if view and view.leader >= 0 else None

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.replicas if view else ()

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.isr if view else ()

    def controller(self) -> int | None:
        found = views.quorum_leader(self.brokers)
        return found[0] if found else None

    def serving(self, node: int) -> bool:
        # The node itself must answer, but of its own fencing it is the last to learn: ask the others.
        told: list[set[int]] = []
        for asked, address in self.brokers.items():
            try:
                told.append(views.unfenced(address))
            except OSError:
                if asked == node:
                    return False
        return all(node in unfenced for unfenced in told)

    def healthy(self) -> bool:
        """Whether every node runs and every broker sees every broker unfenced."""
        try:
            return all(node.state() == "running" for node in self.nodes.values()) and all(
                views.unfenced(address) == set(self.nodes) for address in self.brokers.values()
            )
        except (OSError, APIError):
            return False

    def save_logs(self, directory: Path) -> None:
        """Write each node's log to ``<directory>/kafka<id>.log``. Never raises: it runs while things fail."""
        directory.mkdir(parents=True, exist_ok=True)
        for node in self.nodes.values():
            try:
                (directory / f"{host_of(node.id)}.log").write_bytes(node.logs())
            except (APIError, OSError) as error:
                log.warning("log of %s not kept: %s", host_of(node.id), error)

    def _newest(self, topic: str, partition: int) -> Leadership | None:
        return views.newest(views.views(self.brokers, [topic]).values(), (topic, partition))


@contextmanager
def running(client: Any, spec: ClusterSpec, *, run: str, logs: Path) -> Iterator[DockerCluster]:
    """A ready cluster for as long as the block runs.

    client  of a Docker engine, see ``engine.connect``.
    run     names its containers and labels; unique.
    logs    directory for the nodes' logs should the start fail.
    Raises InfrastructureError when the cluster cannot be started. Whatever ends the block or the
    start, Ctrl-C included, everything made for it is removed.
    """
    image = spec.image or image_for(spec.version, client)
    for needed in (image, agent_image()):
        require_image(client, needed)
    require_memory(client, brokers=spec.brokers, heap_mb=spec.heap_mb)
    for orphan in reaper.sweep(client):
        log.info("removed what run %s had left behind", orphan)
    with ExitStack() as stack:
        stack.callback(reaper.remove_run, client, run)
        # A busy port is the one thing that another program can spoil between choosing and using.
        cluster = Retrying(stop=stop_after_attempt(3), retry=retry_if_exception(_port_taken), reraise=True)(
            _start, client, spec, run, image, stack
        )
        try:
            ready.wait_ready(cluster.brokers, dead=lambda: _ended(cluster))
        except BaseException:
            cluster.save_logs(logs)
            raise
        yield cluster


def _start(client: Any, spec: ClusterSpec, run: str, image: str, stack: ExitStack) -> DockerCluster:
    api, labels = client.api, reaper.labels(run)
    reaper.remove_run(client, run)
    cluster_id = secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")
    ports = _free_ports(spec.brokers)

    def connect_nodes() -> str:
        return str(api.create_network(f"kafkacheck-{run}", driver="bridge", labels=labels)["Id"])

    def start(node: int, network: str) -> DockerNode:
        name = f"kafkacheck-{run}-{host_of(node)}"
        agent = Agent(
            client,
            create={
                "image": agent_image(),
                "name": f"{name}-agent",
                "hostname": host_of(node),
                "labels": labels,
                "ports": [EXTERNAL_PORT],
                "host_config": api.create_host_config(
                    cap_add=["NET_ADMIN"], port_bindings={EXTERNAL_PORT: ("127.0.0.1", ports[node])}
                ),
                "networking_config": api.create_networking_config(
                    {network: api.create_endpoint_config(aliases=[host_of(node)])}
                ),
            },
        )
        stack.callback(agent.close)
        container = api.create_container(
            image=image,
            name=name,
            entrypoint=["sh", "-c", START],
            user="0",  # the two images differ in their user; the data lies in the container either way
            environment={"CLUSTER_ID": cluster_id, "HEAP": str(spec.heap_mb)},
            labels=labels,
            host_config=api.create_host_config(
                network_mode=f"container:{agent.container}", log_config={"Type": "json-file"}
            ),
        )["Id"]
        api.put_archive(container, "/", _files(spec, Place(node, ports[node])))
        api.start(container)
        return DockerNode(client, node=node, container=container, agent=agent, client_port=ports[node])

    # Everything is made on the pool's threads. Ctrl-C strikes the main thread only, and leaving this block
    # waits for requests under way: whatever the engine is still making is there when it gets removed.
    with ThreadPoolExecutor(max_workers=spec.brokers) as pool:
        try:
            network = pool.submit(connect_nodes).result()
            nodes = {node.id: node for node in pool.map(start, spec.nodes, repeat(network))}
        except APIError as error:
            if _port_taken(error):
                raise
            raise InfrastructureError(
                f"The engine could not start a node of {spec.brokers}: {error.explanation or error}"
            ) from error
    return DockerCluster(client, spec=spec, run=run, nodes=nodes)


def _files(spec: ClusterSpec, place: Place) -> bytes:
    """The node's configuration as a tar archive rooted at /."""
    contents = {
        "k/server.properties": render(spec, place).encode(),
        "k/log4j2.yaml": (compose_dir() / "image" / "log4j2.yaml").read_bytes(),
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _free_ports(count: int) -> dict[int, int]:
    """Ports free now, one for each node; the broker advertises its port, so it must be known before the start."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return {node: each.getsockname()[1] for node, each in enumerate(sockets, start=1)}


def _port_taken(error: BaseException) -> bool:
    return isinstance(error, APIError) and any(
        text in str(error) for text in ("port is already allocated", "address already in use")
    )


def _ended(cluster: DockerCluster) -> str | None:
    """What the first broker that is not running said last, or None while all run."""
    for node in cluster.nodes.values():
        if node.state() == "stopped":
            tail = b"\n".join(node.logs().splitlines()[-15:]).decode(errors="replace")
            with contextlib.suppress(APIError):
                return f"{host_of(node.id)} exited with status {node.exit_code()}; its last lines:\n{tail}"
    return None
