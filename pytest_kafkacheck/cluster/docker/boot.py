"""Starts a cluster: plan it, make its parts in the engine, wait until it is ready, and remove it at the end."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from docker.errors import APIError
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from pytest_kafkacheck.cluster.docker import images, reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import (
    check_ports,
    reach,
    require_image,
    require_layout,
    require_memory,
)
from pytest_kafkacheck.cluster.docker.images import agent_image, image_for
from pytest_kafkacheck.cluster.docker.lifecycle import DockerMembership
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import Plan, new_plan
from pytest_kafkacheck.cluster.nodes.launch import Boot, format_arguments
from pytest_kafkacheck.cluster.spec.member import PORTS, ZOOKEEPER
from pytest_kafkacheck.cluster.spec.properties import CHECKPOINT, Checkpoint
from pytest_kafkacheck.cluster.spec.security import zookeeper_commands
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError

log = logging.getLogger(__name__)


@contextmanager
def running(
    client: Any,
    spec: ClusterSpec,
    *,
    run: str,
    logs: Path,
    boot: Boot = "fast",
    owner: Mapping[str, str] | None = None,
    leave: bool = False,
) -> Iterator[DockerCluster]:
    """A ready cluster for as long as the block runs.

    client  client of a Docker engine, see ``engine.connect``.
    run     unique name of the cluster, part of the names of its containers.
    logs    directory for the nodes' logs if the start fails.
    boot    how nodes start, see start.sh. Values other than fast are for benchmarks and for training class archives.
    owner   labels of its owner; default: this process.
    leave   do not remove the cluster when the block ends without an error: its owner removes it.
    Raises UsageError for an image of another layout and for ports that `check_ports` refuses, InfrastructureError
    when the cluster cannot be started. However the block or the start ends, Ctrl-C included, everything that was made
    is removed, unless `keep` was called.
    """
    check_ports(spec, bind=reach(client)[1])
    image = spec.image or image_for(spec.version, client)
    for needed in (image, agent_image()):
        require_image(client, needed)
    if spec.image is not None:
        require_layout(client, image, labels=reaper.labels(run))
    checkpoint = Checkpoint(client.images.get(image).id, format_arguments(spec))
    kept = checkpoint.read() if boot != "plain" else None
    if boot == "fast":
        image = images.archived_image(client, image) or image
    require_memory(client, spec)
    for orphan in reaper.sweep(client):
        log.info("removed the remains of run %s", orphan)
    with ExitStack() as stack:
        stack.enter_context(reaper.removed_at_end(client, run, leave=leave))
        # Another program may take a chosen port before the engine publishes it.
        cluster = Retrying(stop=stop_after_attempt(3), retry=retry_if_exception(_port_taken), reraise=True)(
            _start,
            client,
            new_plan(spec, run=run, image=image, at=reach(client), boot=boot, checkpoint=kept, owner=owner),
        )
        stack.callback(cluster.close)
        cluster.wait_ready(logs=logs)
        if kept is None and spec.kraft:
            with contextlib.suppress(OSError):
                checkpoint.write(cluster.nodes[spec.voters[0].id].get(CHECKPOINT))
        yield cluster


def _start(client: Any, plan: Plan) -> DockerCluster:
    api, members = client.api, {member.id: member for member in plan.spec.members}
    reaper.remove_run(client, plan.run)
    endpoints = plan.endpoints(members.values())
    cluster = DockerCluster(client, plan, {}, membership=DockerMembership)

    groups = _groups(plan.spec)

    def start(node: int) -> DockerNode:
        made = nodes[node].result()
        # A node resolves the names of those that start first, or with it. A broker in ZooKeeper mode resolves those
        # of other brokers only later.
        for each in {*groups[0], node}:
            running[each].result()
        api.start(made.container)
        return made

    # All requests run on the pool's threads. Ctrl-C interrupts only the main thread, and leaving this block waits for
    # requests that are under way. So the clean-up that follows finds every object that the engine was making.
    with ThreadPoolExecutor(max_workers=2 * len(members) + 1) as pool:
        try:
            disks = pool.submit(plan.create_volumes, api, members.values())
            pool.submit(plan.create_network, api).result()
            order = [node for group in groups for node in group]
            created = pool.map(lambda node: plan.create_pod(api, members[node], endpoints[node]), order)
            pods = dict(zip(order, created, strict=True))
            running = {node: pool.submit(api.start, pod) for node, pod in pods.items()}
            disks.result()
            nodes = {
                node: pool.submit(cluster.create, members[node], endpoints[node], pod=pod)
                for node, pod in pods.items()
            }
            started: dict[int, Future[DockerNode]] = {}
            for group in groups:
                started |= {node: pool.submit(start, node) for node in group}
                if members[group[0]].role == "zookeeper" and plan.spec.mechanism is not None:
                    pool.submit(_make_users, plan.spec, [started[node].result() for node in group]).result()
            cluster.nodes.update((node, started[node].result()) for node in members)
        except APIError as error:
            if _port_taken(error):
                raise
            raise InfrastructureError(
                f"The engine could not start a node of {plan.spec.describe()}: {error.explanation or error}"
            ) from error
    return cluster


def _groups(spec: ClusterSpec) -> list[list[int]]:
    """Ids of the nodes that start together. ZooKeeper starts as soon as it can: a broker that does not find it tries
    again only after a second or more.
    """
    ensemble = [member.id for member in spec.members if member.role == "zookeeper"]
    others = [member.id for member in spec.members if member.id not in ensemble]
    return [group for group in (ensemble, others) if group]


def _make_users(spec: ClusterSpec, ensemble: Sequence[DockerNode]) -> None:
    """Make the users in ZooKeeper. With SCRAM in ZooKeeper mode they must exist before the first broker starts."""
    servers = ",".join(f"{node.member.host}:{PORTS[ZOOKEEPER]}" for node in ensemble)
    for main, *arguments in zookeeper_commands(spec.mechanism, zookeeper=servers):
        command = (
            f"java -Xmx128m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' {main} {' '.join(arguments)}"
        )
        status, output = ensemble[0].execute(command)
        if status:
            raise InfrastructureError(
                f"A user could not be made in ZooKeeper (status {status}): {output.strip()}"
            )


def _port_taken(error: BaseException) -> bool:
    return isinstance(error, APIError) and any(
        text in str(error) for text in ("port is already allocated", "address already in use")
    )
