"""A file system of its own for each node: ext4 on a loop device, which a helper container attaches and detaches.

A disk is two volumes. The backing volume contains a file of the disk's size. The data volume is what the engine
mounts: ext4 on the loop device to which a helper attached that file. Only helpers attach and detach devices, and they
find a device by its backing file. So a disk that was half made when its session died can be removed from its backing
volume alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound
from docker.types import Mount

from pytest_kafkacheck.cluster.docker.containers import execute
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.podman import device_rights
from pytest_kafkacheck.errors import InfrastructureError

DISK = "kafkacheck.disk"
"""Label of a backing volume: the name of its data volume."""

OPTIONS = "noatime,commit=600"
"""Mount options. With its default (commit=5) ext4 would make data durable every 5 s without any fsync."""

UNCONFINED = ("seccomp=unconfined", "apparmor=unconfined")
"""Security options that mounting needs besides SYS_ADMIN. Not every engine allows ``privileged`` containers."""

RULES = ("b 7:* rw", "c 10:237 rw")
"""Device rules: loop devices, and /dev/loop-control, which creates more of them."""

LIFETIME = 300
"""Seconds after which a helper ends by itself."""

TOO_FEW = 8
"""Exit status of ``make`` in loop_devices.sh when no loop device is free."""

REMEDY = (
    "run fewer nodes, or end other clusters that have disks (`kafkacheck cluster ls` names them); or give the "
    "engine's host more devices, as root there: mknod /dev/loop8 b 7 8 (and 9, 10, …)"
)
SCRIPT = Path(__file__).with_name("loop_devices.sh").read_text()


class Helper:
    """A running container with access to backing volumes and the host's loop devices. `loop_helper` makes it."""

    def __init__(self, api: Any, container: str) -> None:
        self._api = api
        self._container = container

    def make(self, names: Iterable[str], *, mb: int) -> dict[str, str]:
        """Make an ext4 file system in each backing volume. Returns the loop device by the volume's name.

        Raises InfrastructureError where too few loop devices are free, or where containers may not use them.
        """
        wanted = list(names)
        status, output = self.run("make", str(mb), *wanted)
        if status == TOO_FEW:
            have, free = self.count()
            # The devices that this call attached before it failed become free again.
            free += len(output.splitlines())
            raise InfrastructureError(
                f"{len(wanted)} disks of their own (disk_mb={mb}) need {len(wanted)} loop devices; the engine's host "
                f"has {have}, of which {free} are free. What to do: {REMEDY}"
            )
        made = dict(line.split() for line in output.splitlines() if line.count(" ") == 1)
        if status or set(made) != set(wanted):
            raise InfrastructureError(
                f"Disks of their own (disk_mb={mb}) could not be made (status {status}): {output.strip()}. "
                f"`kafkacheck doctor` says whether this engine is able to"
            )
        return made

    def count(self) -> tuple[int, int]:
        """(number of loop devices of the engine's host, number of those that are free)."""
        have, free = self.run("count")[1].split()
        return int(have), int(free)

    def files(self) -> list[str]:
        """Backing files of all loop devices of the engine's host, including those of other programs."""
        return self.run("files")[1].splitlines()

    def thaw(self) -> None:
        """Thaw all file systems: a process that waits for a write to a frozen one cannot be killed."""
        self.run("thaw")

    def detach(self) -> None:
        """Detach the loop devices. Raises InfrastructureError when one is still mounted after 5 s."""
        status, output = self.run("detach")
        if status:
            raise InfrastructureError(f"A loop device could not be detached: {output.strip()}")

    def run(self, *arguments: str) -> tuple[int, str]:
        """Exit status and output of an action of the script in the container of the helper."""
        return execute(
            self._api,
            self._container,
            ["sh", "-c", SCRIPT, "loop", *arguments],
            timeout=LIFETIME,
            environment={"OPTIONS": OPTIONS},
        )


@contextmanager
def loop_helper(api: Any, backing: Iterable[str], *, labels: Mapping[str, str]) -> Iterator[Helper]:
    """A helper for the named backing volumes while the block runs. Raises InfrastructureError."""
    container = api.create_container(
        image=agent_image(),
        command=["sleep", str(LIFETIME)],
        labels=dict(labels),
        host_config=api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=["SYS_ADMIN"],
            security_opt=list(UNCONFINED),
            **device_rights(api, RULES),
            binds={"/dev": {"bind": "/host/dev", "mode": "ro"}},
            # The engine creates a missing volume: another clean-up removed it first. Give the new one an owner as
            # well.
            mounts=[Mount(f"/disks/{name}", name, type="volume", labels=dict(labels)) for name in backing],
        ),
    )["Id"]
    try:
        try:
            api.start(container)
        except APIError as error:
            raise InfrastructureError(
                f"The engine does not run a container that may mount (SYS_ADMIN, loop devices), which disks of their "
                f"own need: {error.explanation or error}"
            ) from error
        yield Helper(api, container)
    finally:
        _gone(api.remove_container, container, force=True, v=True)


def make_disks(api: Any, disks: Mapping[str, str], *, mb: int, owner: Mapping[str, str]) -> None:
    """Make data volumes, each with a file system of its own.

    disks  name of the data volume to name of its backing volume.
    owner  labels of all volumes and of the helper.
    Raises InfrastructureError; volumes that were made before the error carry the labels.
    """
    for data, backing in disks.items():
        api.create_volume(backing, labels={**owner, DISK: data})
    with loop_helper(api, disks.values(), labels=owner) as helper:
        devices = helper.make(disks.values(), mb=mb)
    for data, backing in disks.items():
        api.create_volume(
            data,
            driver_opts={"type": "ext4", "device": devices[backing], "o": OPTIONS},
            labels=dict(owner),
        )


def remove_disk(api: Any, data: str, backing: str, *, owner: Mapping[str, str]) -> None:
    """Remove a disk that no container uses, also one that is half made or missing. Raises InfrastructureError."""
    _gone(api.remove_volume, data, force=True)
    with loop_helper(api, [backing], labels=owner) as helper:
        helper.detach()
    _gone(api.remove_volume, backing, force=True)


def _gone(remove: Any, *arguments: Any, **options: Any) -> None:
    with suppress(NotFound):
        remove(*arguments, **options)
