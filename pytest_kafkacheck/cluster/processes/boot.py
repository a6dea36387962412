"""Starts a cluster without an engine, and removes it at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from nemesis.registry import FAULTS
from pytest_kafkacheck.cluster.nodes.cluster import KafkaCluster
from pytest_kafkacheck.cluster.nodes.launch import Boot, format_arguments, launch
from pytest_kafkacheck.cluster.processes.namespaces import Pod, Switch
from pytest_kafkacheck.cluster.processes.node import ProcessNode
from pytest_kafkacheck.cluster.spec.member import Endpoint
from pytest_kafkacheck.cluster.spec.properties import CHECKPOINT, Checkpoint, new_id, published
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import CapabilityError, UsageError

NO_GROUPS = "its nodes have no control groups of their own"
NO_DISKS = "its nodes have no disks of their own"
FIXED = "its nodes are those with which it started"

REFUSED: Mapping[str, str] = {
    "cpu": NO_GROUPS, "memory": NO_GROUPS, "oom": NO_GROUPS,
    "disk-full": NO_DISKS, "disk-stall": NO_DISKS, "slow-disk": NO_DISKS, "log-dir-failure": NO_DISKS,
    "power-loss": NO_DISKS,
    "dns": "its nodes have their peers' addresses in a file",
    "clock": "its nodes have this machine's clock",
    "add-broker": FIXED, "remove-broker": FIXED,
    "upgrade": "its nodes share the files of one release",
}  # fmt: skip
"""Faults that such a cluster cannot do, with the reason."""


def require_faults(faults: Iterable[str]) -> None:
    """Raise CapabilityError for faults, by name, that nodes without an engine cannot do."""
    if refused := [name for name in dict.fromkeys(faults) if name in REFUSED or name not in FAULTS]:
        reasons = "; ".join(f"{name}: {REFUSED.get(name, 'it is not known')}" for name in refused)
        raise CapabilityError(
            f"a cluster of plain processes cannot do what is asked for: {reasons}; use Docker"
        )


def check(spec: ClusterSpec) -> None:
    """Raise UsageError for a spec that such a cluster does not have, InfrastructureError where it cannot start."""
    given = {
        "attached": spec.attached, "image": spec.image, "disk_mb": spec.disk_mb, "zookeepers": spec.zookeepers,
        "security": None if spec.security == "PLAINTEXT" else spec.security,
    }  # fmt: skip
    if found := [f"{name}={value!r}" for name, value in given.items() if value]:
        raise UsageError(f"ClusterSpec({', '.join(found)}): not in a cluster of plain processes; use Docker")
    if os.geteuid() != 0:
        raise CapabilityError("a cluster of plain processes needs root, for network namespaces; use Docker")


class ProcessCluster(KafkaCluster[ProcessNode]):
    """`running` makes and removes it."""

    def __init__(self, spec: ClusterSpec, run: str) -> None:
        super().__init__({})
        self._spec, self._run = spec, run
        self.require_faults = require_faults

    @property
    def run(self) -> str:
        return self._run

    @property
    def spec(self) -> ClusterSpec:
        return self._spec

    @property
    def membership(self) -> FixedMembership:
        return FixedMembership()


class FixedMembership:
    """Implements ``kafka.administration.Membership``; `REFUSED` has the faults that would call it."""

    def add_broker(self) -> int:
        raise UsageError(FIXED)

    def remove_broker(self, node: int) -> None:
        raise UsageError(f"node {node}: {FIXED}")

    def change_release(self, node: int, version: str) -> None:
        raise UsageError(f"node {node}, Kafka {version}: {REFUSED['upgrade']}")


@contextmanager
def running(
    spec: ClusterSpec, *, run: str, logs: Path, kafka: Path, boot: Boot = "fast"
) -> Iterator[ProcessCluster]:
    """A ready cluster for as long as the block runs.

    run    name of the cluster.
    logs   directory for the nodes' logs if the start fails.
    kafka  the files of the release, see `setup.processes`.
    boot   how nodes start, see start.sh.
    Raises as `check` does, and InfrastructureError when the cluster cannot be started. However the block, the start
    or this process ends, no process, namespace, interface or file is left.
    """
    check(spec)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    checkpoint = Checkpoint(str(kafka), format_arguments(spec))
    kept = checkpoint.read() if boot != "plain" else None
    cluster, cluster_id = ProcessCluster(spec, run), new_id()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="kafkacheck-processes-"))
        switch = Switch(folder, environment)
        stack.callback(switch.close)
        numbers = {member: number for number, member in enumerate(spec.members, start=1)}
        names = "".join(f"{switch.address(number)} {member.host}\n" for member, number in numbers.items())
        pods: dict[int, Pod] = {}
        for member in spec.members:
            pod = Pod(
                folder / member.host,
                host=member.host,
                hosts=f"127.0.0.1 localhost\n{names}",
                kafka=kafka,
                environment=environment,
            )
            stack.callback(pod.close)
            pods[member.id] = pod
        for member, number in numbers.items():
            pod, mac = pods[member.id], f"02:00:c6:12:00:{number:02x}"
            pod.wait_ready()
            switch.join(pod, number=number, mac=mac)
            endpoint = Endpoint(switch.address(number), published(spec, member))
            cluster.nodes[member.id] = ProcessNode(
                member,
                endpoint,
                pod=pod,
                mac=mac,
                launch=launch(spec, member, endpoint, cluster_id=cluster_id, boot=boot, checkpoint=kept),
                log=folder / f"{member.host}.log",
                release=spec.version,
            )
        for node in cluster.nodes.values():
            stack.callback(node.agent.close)
            node.start()
        cluster.wait_ready(logs=logs)
        if kept is None:
            with suppress(OSError):
                checkpoint.write(cluster.nodes[spec.voters[0].id].get(CHECKPOINT))
        yield cluster
