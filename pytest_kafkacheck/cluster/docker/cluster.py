"""A running cluster in Docker: start, look, stop."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from docker.errors import APIError, DockerException
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception,
    retry_if_result,
    stop_after_attempt,
    stop_after_delay,
    wait_fixed,
)

from pytest_kafkacheck.cluster.docker import class_archive, reaper
from pytest_kafkacheck.cluster.docker.deadline import within
from pytest_kafkacheck.cluster.docker.engine import reach, require_image, require_layout, require_memory
from pytest_kafkacheck.cluster.docker.launch import Boot, format_arguments
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import SPEC, Plan, new_plan
from pytest_kafkacheck.cluster.kafka import metadata_views, readiness, zookeeper
from pytest_kafkacheck.cluster.kafka.administration import Administration
from pytest_kafkacheck.cluster.spec.formatting import CHECKPOINT, Checkpoint
from pytest_kafkacheck.cluster.spec.member import (
    CONTROL_PLANE,
    CONTROLLER,
    EXTERNAL,
    INTERNAL,
    PORTS,
    ZOOKEEPER,
    Member,
    Place,
)
from pytest_kafkacheck.cluster.spec.security import client_properties, zookeeper_commands
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.setup.image import agent_image, image_for
from workloads.clients.connection import Address
from workloads.clients.requests import Leadership

log = logging.getLogger(__name__)

SESSION_LIMIT = 30.0
"""Seconds for ZooKeeper to forget the session of a killed broker; the fast profile's is 3 s."""


LOGS_LIMIT = 30.0
"""Seconds for keeping the logs of all nodes."""


class DockerCluster:
    """Implements ``nemesis.cluster.Cluster``. Made by `running`, which also removes it."""

    def __init__(self, client: Any, plan: Plan, nodes: Mapping[int, DockerNode]) -> None:
        self.client = client
        self.plan = plan
        self.nodes = dict(nodes)

    @property
    def run(self) -> str:
        return self.plan.run

    @property
    def spec(self) -> ClusterSpec:
        return self.plan.spec

    @property
    def brokers(self) -> dict[int, Address]:
        """Where clients on this host reach each broker."""
        return {node.id: node.client_address for node in self.nodes.values() if node.member.is_broker}

    @property
    def controllers(self) -> tuple[int, ...]:
        """Ids of the KRaft voters; none in ZooKeeper mode."""
        return tuple(node.id for node in self.nodes.values() if node.member.is_controller)

    @cached_property
    def kafka(self) -> Administration:
        """What can be asked of Kafka itself."""
        return Administration(self)

    @property
    def zookeepers(self) -> dict[int, Address]:
        """Where this host reaches each ZooKeeper node."""
        return {
            node.id: node.address(ZOOKEEPER)
            for node in self.nodes.values()
            if node.member.role == "zookeeper"
        }

    @property
    def bootstrap(self) -> list[str]:
        """For clients of the user's own."""
        return [str(address) for address in self.brokers.values()]

    def client_properties(self) -> str:
        """What Kafka's own tools and Java clients need to get in, as a properties file; secrets included."""
        return f"bootstrap.servers={','.join(self.bootstrap)}\n" + client_properties(
            self.plan.securities.get(EXTERNAL)
        )

    @property
    def planes(self) -> Mapping[str, frozenset[int]]:
        """TCP ports by what they carry between nodes."""
        found = {"replication": frozenset({PORTS[INTERNAL]})}
        if self.spec.kraft:
            found["controller"] = frozenset({PORTS[CONTROLLER]})
        elif self.spec.control_plane:
            found["controller"] = frozenset({PORTS[CONTROL_PLANE]})
        return found

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
        if not self.spec.kraft:
            with contextlib.suppress(OSError):
                return zookeeper.controller(self.zookeepers.values())
            return None
        found = metadata_views.quorum(self.brokers)
        return found.leader if found else None

    def coordinator(self, kind: Literal["group", "transaction"], name: str) -> int | None:
        return self.kafka.coordinator(kind, name)

    def answers(self, node: int) -> bool:
        try:
            metadata_views.unfenced(self.brokers[node])
        except OSError:
            return False
        return True

    def serving(self, node: int) -> bool:
        member = self.nodes[node].member
        try:
            if member.role == "zookeeper":
                return bool(zookeeper.mode(self.nodes[node].address(ZOOKEEPER)))
            if member.role == "controller":
                return self._follows(node)
        except OSError:
            return False
        # The node itself must answer, but of its own fencing it is the last to learn: ask the others.
        told: list[set[int]] = []
        for asked, address in self.brokers.items():
            try:
                told.append(metadata_views.unfenced(address))
            except OSError:
                if asked == node:
                    return False
        return all(node in unfenced for unfenced in told)

    def healthy(self) -> bool:
        """Whether every node runs and serves, and every broker sees every broker unfenced."""
        brokers = set(self.brokers)
        try:
            return (
                all(node.state() == "running" for node in self.nodes.values())
                and all(metadata_views.unfenced(address) == brokers for address in self.brokers.values())
                and all(self.serving(node) for node in self.nodes if node not in brokers)
            )
        except (OSError, APIError):
            return False

    def save_logs(self, directory: Path) -> None:
        """Write each node's log to ``<directory>/<host>.log``. Never raises: it runs while things fail."""

        def save() -> None:
            directory.mkdir(parents=True, exist_ok=True)
            for node in self.nodes.values():
                try:
                    (directory / f"{node.member.host}.log").write_bytes(node.logs())
                except (APIError, OSError) as error:
                    log.warning("log of %s not kept: %s", node.member.host, error)

        try:
            within(LOGS_LIMIT, save, name=f"logs of {self.run}")
        except OSError as error:
            log.warning("not all logs of %s kept in %s: %s", self.run, directory, error)

    def create(self, member: Member, place: Place, *, pod: str) -> DockerNode:
        """A node with a new container in a pod that runs; not started."""
        container = self.plan.create_container(self.client.api, member, place, pod=pod)
        return self.node(member, place, container=container, pod=pod)

    def node(self, member: Member, place: Place, *, container: str, pod: str) -> DockerNode:
        """The node that a container of this cluster is."""

        def may_start() -> None:
            if member.is_broker and not self.spec.kraft:
                self._wait_unregistered(member.id)

        return DockerNode(
            self.client,
            member=member,
            place=place,
            container=container,
            pod=pod,
            security=self.plan.securities,
            may_start=may_start,
            owner=self.plan.owner,
        )

    def close(self) -> None:
        """End agents and sidecars: cuts are healed, frozen disks thawed. The nodes run on."""
        for node in self.nodes.values():
            node.agent.close()
            try:
                node.close_disk()
            except (InfrastructureError, DockerException, OSError) as error:
                log.warning(
                    "the sidecar of %s is left to who removes the cluster: %s", node.member.host, error
                )

    def keep(self) -> None:
        """Let the cluster outlive this session, until `kafkacheck cluster down`; another may take it over."""
        reaper.keep(self.client, self.run, marks={SPEC: json.dumps(self.spec.to_json())})

    def ended(self) -> str | None:
        """What the first node that is not running said last, or None while all run."""
        for node in self.nodes.values():
            if node.state() == "stopped":
                tail = b"\n".join(node.logs().splitlines()[-15:]).decode(errors="replace")
                with contextlib.suppress(APIError):
                    return (
                        f"{node.member.host} exited with status {node.exit_code()}; its last lines:\n{tail}"
                    )
        return None

    def _newest(self, topic: str, partition: int) -> Leadership | None:
        return metadata_views.newest(metadata_views.views(self.brokers, [topic]).values(), (topic, partition))

    def _follows(self, controller: int) -> bool:
        """Whether a separate controller is the quorum's leader, or has all that is committed."""
        quorum = metadata_views.quorum(self.brokers)
        return quorum is not None and quorum.ends.get(controller, -1) >= quorum.high_watermark

    def _wait_unregistered(self, broker: int) -> None:
        """A broker that finds its own old registration ends itself: wait until its session has run out."""
        try:
            Retrying(stop=stop_after_delay(SESSION_LIMIT), wait=wait_fixed(0.1), retry=retry_if_result(bool))(
                lambda: broker in zookeeper.registered(self.zookeepers.values())
            )
        except (RetryError, OSError):
            # Without ZooKeeper there is nothing to wait for: the broker will wait for it itself.
            log.warning("broker %d is started although ZooKeeper may still hold its old session", broker)


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

    client  of a Docker engine, see ``engine.connect``.
    run     names its containers and labels; unique.
    logs    directory for the nodes' logs should the start fail.
    boot    how nodes start, see start.sh; other than fast for benchmarks and archives only.
    owner   labels of who shall own it; default: this process.
    leave   let it run on when the block ends well: its owner removes it.
    Raises UsageError for an image of another layout, InfrastructureError when the cluster cannot be started.
    Whatever ends the block or the start, Ctrl-C included, everything made for it is removed, unless somebody called
    its `keep`.
    """
    image = spec.image or image_for(spec.version, client)
    for needed in (image, agent_image()):
        require_image(client, needed)
    if spec.image is not None:
        require_layout(client, image, labels=reaper.labels(run))
    checkpoint = Checkpoint(client.images.get(image).id, format_arguments(spec))
    kept = checkpoint.read() if boot != "plain" else None
    if boot == "fast":
        image = class_archive.image_of(client, image) or image
    require_memory(client, spec)
    for orphan in reaper.sweep(client):
        log.info("removed what run %s had left behind", orphan)
    with ExitStack() as stack:
        stack.enter_context(reaper.removed_at_end(client, run, leave=leave))
        # A busy port is the one thing that another program can spoil between choosing and using.
        cluster = Retrying(stop=stop_after_attempt(3), retry=retry_if_exception(_port_taken), reraise=True)(
            _start,
            client,
            new_plan(spec, run=run, image=image, at=reach(client), boot=boot, checkpoint=kept, owner=owner),
        )
        stack.callback(cluster.close)
        try:
            readiness.wait_ready(cluster)
        except BaseException as error:
            cluster.save_logs(logs)
            error.add_note(f"The nodes' logs are in {logs}")
            raise
        if kept is None and spec.kraft:
            with contextlib.suppress(OSError):
                checkpoint.write(cluster.nodes[spec.voters[0].id].get(CHECKPOINT))
        yield cluster


def _start(client: Any, plan: Plan) -> DockerCluster:
    api, members = client.api, {member.id: member for member in plan.spec.members}
    reaper.remove_run(client, plan.run)
    places = plan.places(members.values())
    cluster = DockerCluster(client, plan, {})

    def start(node: int, pod: str) -> DockerNode:
        made = cluster.create(members[node], places[node], pod=pod)
        api.start(made.container)
        return made

    # Everything is made on the pool's threads. Ctrl-C strikes the main thread only, and leaving this block
    # waits for requests under way: whatever the engine is still making is there when it gets removed.
    with ThreadPoolExecutor(max_workers=len(members) + 1) as pool:
        try:
            disks = pool.submit(plan.create_volumes, api, members.values())
            pool.submit(plan.create_network, api).result()
            # All pods first: a node that starts must find the names of the others.
            pods = list(pool.map(lambda node: plan.create_pod(api, members[node], places[node]), members))
            placed = dict(zip(members, pods, strict=True))
            disks.result()
            first: list[int] = []
            if zookeeper_commands(plan.spec.mechanism, zookeeper="") and not plan.spec.kraft:
                first = [node for node in placed if members[node].role == "zookeeper"]
            for group in (first, [node for node in placed if node not in first]):
                started = pool.map(start, group, [placed[node] for node in group])
                cluster.nodes.update((node.id, node) for node in started)
                if group and group is first:
                    pool.submit(_make_users, cluster).result()
        except APIError as error:
            if _port_taken(error):
                raise
            raise InfrastructureError(
                f"The engine could not start a node of {plan.spec.describe()}: {error.explanation or error}"
            ) from error
    return cluster


def _make_users(cluster: DockerCluster) -> None:
    """With SCRAM in ZooKeeper mode brokers look each other up in ZooKeeper: users come before them."""
    servers = ",".join(f"{node.member.host}:{PORTS[ZOOKEEPER]}" for node in cluster.nodes.values())
    for main, *arguments in zookeeper_commands(cluster.spec.mechanism, zookeeper=servers):
        command = (
            f"java -Xmx128m -XX:TieredStopAtLevel=1 -cp '/opt/kafka/libs/*' {main} {' '.join(arguments)}"
        )
        status, output = next(iter(cluster.nodes.values())).execute(command)
        if status:
            raise InfrastructureError(
                f"A user could not be made in ZooKeeper (status {status}): {output.strip()}"
            )


def _port_taken(error: BaseException) -> bool:
    return isinstance(error, APIError) and any(
        text in str(error) for text in ("port is already allocated", "address already in use")
    )
