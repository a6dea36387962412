"""The sidecar of a node: a container that has access to the node's data whether the node runs, is paused or is dead.

It starts at first use. Where the node has a disk of its own (``ClusterSpec(disk_mb=...)``), each command mounts the
disk for itself and unmounts it at its end: a file system that lost power recovers only after its last unmount, by
whichever container.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from docker.errors import APIError, NotFound
from docker.types import Mount

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.containers import execute
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.loop_devices import OPTIONS, UNCONFINED
from pytest_kafkacheck.cluster.spec.member import Member
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError, UsageError

LIMIT = 30.0
"""Seconds for one command in the sidecar."""

MEMORY = "256m"
PROCESSES = 64
LIFETIME = 24 * 3600
"""Limits of a sidecar: bytes, processes, and seconds after which it ends; the next command starts it again."""

# At the end every process gets SIGTERM; the process that froze the disk then thaws it.
HOLD = f"""
rm -f /run/frozen /run/freezer
trap 'kill -TERM -1; sleep 0.5' EXIT
trap 'exit 0' TERM INT
sleep {LIFETIME} & wait $!
"""
SCRIPT = Path(__file__).with_name("sidecar.sh").read_text()


class SidecarOwner(Protocol):
    """What a sidecar needs of its node."""

    @property
    def id(self) -> int: ...

    @property
    def member(self) -> Member: ...

    @property
    def container(self) -> str:
        """Id of the container of the node's process; an upgrade replaces it."""
        ...


class Data(NamedTuple):
    """Where a node's data is.

    name    name of the node's container.
    volume  name of the volume with its data.
    labels  labels of its owner.
    device  of the volume, if it is a file system of its own; otherwise None.
    """

    name: str
    volume: str
    labels: dict[str, str]
    device: str | None

    @property
    def own(self) -> bool:
        """Whether the volume is a file system of its own."""
        return self.device is not None


class Sidecar:
    """Of one node. Methods raise InfrastructureError when the sidecar is not done in time."""

    def __init__(self, client: Any, node: SidecarOwner) -> None:
        self._api = client.api
        self._node = node

    def do(self, *arguments: str, limit: float = LIMIT) -> tuple[int, str]:
        """Exit status and output. `limit`: seconds after which the command ends by itself."""
        try:
            return execute(
                self._api, self._ensure(), ["sh", "-c", SCRIPT, "sidecar", *arguments], timeout=limit + LIMIT
            )
        except (APIError, OSError) as error:
            raise InfrastructureError(
                f"The sidecar of {self._node.member.host} did not do {arguments[0]!r}: {error}"
            ) from error

    def _ensure(self) -> str:
        """Start the sidecar if it does not run. Returns its name."""
        name = sidecar_name(self.data.name)
        try:
            if self._api.inspect_container(name)["State"]["Running"]:
                return name
        except NotFound:
            try:
                self._create(name)
            except APIError as error:
                if error.status_code != 409:  # another thread created it first
                    raise
        self._api.start(name)
        return name

    def _create(self, name: str) -> None:
        volume, labels, device = self.data.volume, self.data.labels, self.data.device
        if device is None:
            rights: dict[str, Any] = {"mounts": [Mount(DATA, volume, type="volume", labels=dict(labels))]}
        else:
            rights = {
                "cap_add": ["SYS_ADMIN"],
                "security_opt": list(UNCONFINED),
                "devices": [f"{device}:{device}:rw"],
                # Podman's containers have a root directory in which only DAC_OVERRIDE can make another one.
                "tmpfs": {str(Path(DATA).parent): "size=64k,mode=755"},
            }
        self._api.create_container(
            image=agent_image(),
            name=name,
            command=["bash", "-c", HOLD],
            environment={"DEVICE": device or "", "OPTIONS": OPTIONS},
            labels={**labels, "kafkacheck.part": "sidecar"},
            host_config=self._api.create_host_config(
                network_mode="none", mem_limit=MEMORY, pids_limit=PROCESSES, cap_drop=["ALL"], **rights
            ),
        )

    def is_running(self) -> bool:
        try:
            return bool(self._api.inspect_container(sidecar_name(self.data.name))["State"]["Running"])
        except NotFound:
            return False

    def remove(self) -> None:
        """Does nothing if there is none. The next command starts another one."""
        with contextlib.suppress(NotFound):
            self._api.remove_container(sidecar_name(self.data.name), force=True, v=True)

    @cached_property
    def data(self) -> Data:
        """Raises UsageError for a node that kafkacheck did not start."""
        container = self._api.inspect_container(self._node.container)
        labels = container["Config"]["Labels"] or {}
        volumes = [
            each["Name"] for each in container["Mounts"] if each["Destination"] == DATA and "Name" in each
        ]
        if not volumes or reaper.RUN not in labels:
            raise UsageError(
                f"node {self._node.id} was not started by kafkacheck, so where its data is cannot be known; use "
                f"a ClusterSpec"
            )
        return Data(
            container["Name"].lstrip("/"),
            volumes[0],
            {name: labels[name] for name in reaper.OWNERSHIP if name in labels},
            self._device(volumes[0]),
        )

    def _device(self, volume: str) -> str | None:
        options = self._api.inspect_volume(volume)["Options"] or {}
        return str(options["device"]) if options.get("type") == "ext4" else None


def sidecar_name(container: str) -> str:
    """Name of the sidecar of the node whose container has that name."""
    return f"{container}-sidecar"
