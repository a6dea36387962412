"""File systems of their own for nodes: ext4 on loop devices, made and detached by a helper container.

A disk is two volumes. The backing one holds a file of the disk's size; the data one is what the engine mounts: ext4
on the loop device to which a helper attached that file. Nothing attaches or detaches but helpers, which find devices
by their backing files: a disk that was half made when its maker died is told by its backing volume alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound
from docker.types import Mount

from pytest_kafkacheck.cluster.docker.executing import execute
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.errors import InfrastructureError

DISK = "kafkacheck.disk"
"""Label of a backing volume: the name of its data volume."""

OPTIONS = "noatime,commit=600"
"""Of every mount. ext4 would otherwise make durable every 5 s what nobody has asked it to."""

UNCONFINED = ("seccomp=unconfined", "apparmor=unconfined")
"""What mounting needs besides SYS_ADMIN; not every engine gives a container all rights (``privileged``)."""

RULES = ("b 7:* rwm", "c 10:237 rwm")
"""Loop devices, and what makes more of them."""

LIFETIME = 300
"""Seconds after which a helper ends by itself."""

TOO_FEW = 8
"""Exit status of ``make`` in loop_devices.sh."""

REMEDY = (
    "run fewer nodes, or end other clusters that have disks (`kafkacheck cluster ls` names them); or give the "
    "engine's host more devices, as root there: mknod /dev/loop8 b 7 8 (and 9, 10, …)"
)
SCRIPT = Path(__file__).with_name("loop_devices.sh").read_text()


class Helper:
    """A running container that sees backing volumes and the host's loop devices. Made by `loop_helper`."""

    def __init__(self, api: Any, container: str) -> None:
        self._api = api
        self._container = container

    def make(self, names: Iterable[str], *, mb: int) -> dict[str, str]:
        """An ext4 file system in each backing volume. Returns its loop device, by the volume's name.

        Raises InfrastructureError: too few loop devices, or the engine's host does not let a container make one.
        """
        wanted = list(names)
        status, output = self._run("make", str(mb), *wanted)
        if status == TOO_FEW:
            have, free = self.count()
            # Those that this very call attached before it ran out are to be had again.
            free += len(output.splitlines())
            raise InfrastructureError(
                f"{len(wanted)} disks of their own (disk_mb={mb}) need {len(wanted)} loop devices; the engine's host "
                f"has {have}, of which {free} are free. What to do: {REMEDY}"
            )
        made = dict(line.split() for line in output.splitlines() if line.count(" ") == 1)
        if status or set(made) != set(wanted):
            raise InfrastructureError(
                f"Disks of their own (disk_mb={mb}) could not be made (status {status}): {output.strip()}. "
                f"`kafkacheck doctor` says whether this engine can"
            )
        return made

    def count(self) -> tuple[int, int]:
        """(loop devices the engine's host has, those that are free)."""
        have, free = self._run("count")[1].split()
        return int(have), int(free)

    def files(self) -> list[str]:
        """Backing files of all loop devices of the engine's host, whoever's they are."""
        return self._run("files")[1].splitlines()

    def thaw(self) -> None:
        """Let writes to all of them go on: no process that waits for one can be killed."""
        self._run("thaw")

    def detach(self) -> None:
        """Free their loop devices. Raises InfrastructureError when one is still mounted after 5 s."""
        status, output = self._run("detach")
        if status:
            raise InfrastructureError(f"A loop device could not be freed: {output.strip()}")

    def _run(self, *arguments: str) -> tuple[int, str]:
        return execute(
            self._api,
            self._container,
            ["sh", "-c", SCRIPT, "loop", *arguments],
            timeout=LIFETIME,
            environment={"OPTIONS": OPTIONS},
        )


@contextmanager
def loop_helper(api: Any, backing: Iterable[str], *, labels: Mapping[str, str]) -> Iterator[Helper]:
    """A helper for backing volumes, by name, as long as the block runs. Raises InfrastructureError."""
    container = api.create_container(
        image=agent_image(),
        command=["sleep", str(LIFETIME)],
        labels=dict(labels),
        host_config=api.create_host_config(
            network_mode="none",
            cap_add=["SYS_ADMIN", "MKNOD"],
            security_opt=list(UNCONFINED),
            device_cgroup_rules=list(RULES),
            binds={"/dev": {"bind": "/host/dev", "mode": "rw"}},
            # The engine makes a volume that is not there: another clean-up was faster. It shall have an owner, too.
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
    """Make data volumes, each a file system of its own.

    disks  data volume to backing volume.
    owner  labels of all.
    Raises InfrastructureError; what was made by then carries the labels.
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
    """Remove a disk that no container uses, made, half made or not at all. Raises InfrastructureError."""
    _gone(api.remove_volume, data, force=True)
    with loop_helper(api, [backing], labels=owner) as helper:
        helper.detach()
    _gone(api.remove_volume, backing, force=True)


def _gone(remove: Any, *arguments: Any, **options: Any) -> None:
    with suppress(NotFound):
        remove(*arguments, **options)
