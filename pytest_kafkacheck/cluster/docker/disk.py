"""A node's data seen from beside it, and what can happen to the disk below: full, stalled, failed, without power.

A sidecar, started at first use, sees the data directory whether the node runs, is paused or is dead. Where the node
has a disk of its own (``ClusterSpec(disk_mb=...)``) each command mounts it for itself and unmounts it at its end: a
file system that lost power comes back only when nobody at all has it mounted any more.
"""

from __future__ import annotations

import shlex
import threading
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from docker.errors import APIError, NotFound
from docker.types import Mount

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.executing import execute
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.loop_devices import OPTIONS, UNCONFINED
from pytest_kafkacheck.cluster.spec.member import Member
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError, UsageError

BALLAST = f"{DATA}/.kafkacheck-ballast"
"""What fills a disk. Kafka reads no files in its data directory but those it knows."""

LIMIT = 30.0
"""Seconds for one command of ours."""

MEMORY = "256m"
PROCESSES = 64
LIFETIME = 24 * 3600
"""Of a sidecar: bytes, processes, seconds after which it ends; the next command starts it again."""

# Whatever is frozen gets thawed: the freezer does when it is told to end.
HOLD = f"""
rm -f /run/frozen /run/freezer
trap 'kill -TERM -1; sleep 0.5' EXIT
trap 'exit 0' TERM INT
sleep {LIFETIME} & wait $!
"""
SCRIPT = Path(__file__).with_name("sidecar.sh").read_text()

AVAILABLE = f"df --output=avail -B1 {DATA} | tail -n 1"

# What is free at one moment may be taken in the next, and a file of that size needs a block or two for itself.
FILL = f"""
before=$({AVAILABLE})
less=0
for try in $(seq 40); do
  free=$({AVAILABLE})
  [ "$free" -eq 0 ] && break
  have=$(stat -c %s {BALLAST} 2>/dev/null || echo 0)
  if [ "$free" -gt "$less" ] && fallocate -o "$have" -l $((free - less)) {BALLAST} 2>/dev/null; then
    less=0
  else
    less=$((less + 4096))
    [ "$less" -gt "$free" ] && less=0
  fi
done
echo "$before $({AVAILABLE})"
"""
EMPTY = f"""
before=$({AVAILABLE})
rm -f {BALLAST} || exit
echo "$before $({AVAILABLE})"
"""

# FS_IOC_SHUTDOWN with NOLOGFLUSH: nothing more is written, not even the journal.
SHUT_DOWN = f"""perl -e '
open(F, "<", "{DATA}") or die "open: $!\\n";
my $flags = pack("L", 2);
ioctl(F, 0x8004587D, $flags) or die "FS_IOC_SHUTDOWN: $!\\n";
'"""


class DiskOwner(Protocol):
    """What a disk needs of its node."""

    @property
    def id(self) -> int: ...

    @property
    def member(self) -> Member: ...

    @property
    def container(self) -> str:
        """Id of the container of the node's process; an upgrade replaces it."""
        ...

    def signal(self, name: Literal["STOP", "CONT"]) -> None: ...

    def kill(self) -> None:
        """Kill the process and return when it has ended."""
        ...


class Disk:
    """Of one node. Every method raises InfrastructureError when the sidecar, or the disk, does not do it in time.

    ``run`` works for every node that kafkacheck started; all else raises UsageError without a disk of its own.
    """

    def __init__(self, client: Any, node: DiskOwner) -> None:
        self._api = client.api
        self._node = node
        self._using = threading.Lock()
        """Held while a command of ours may have the file system mounted."""

    @property
    def own(self) -> bool:
        """Whether the node has a file system of its own."""
        return self._data.own

    def run(self, command: str, *, timeout: float = LIMIT) -> tuple[int, str]:
        """Exit status (124 when time was up) and output of a shell command that sees the node's data in /k/data.

        As root, in our own image: coreutils and perl. Of the output the last MiB is kept. A command that writes to a
        frozen disk cannot be ended: it is left behind until the thaw.
        """
        with self._using:
            return self._sidecar("run", str(timeout), command, limit=timeout)

    def fill(self) -> tuple[int, int]:
        """Take all space that is left. Returns available bytes before and after, which are 0.

        What Kafka wrote into allocated blocks still succeeds: indexes, and the last 4 KiB of a file.
        """
        before, after = self._two(FILL)
        if after:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} could not be filled: {after} of {before} bytes stayed "
                f"available. Something frees space at the same time; fill it again"
            )
        return before, after

    def empty(self) -> tuple[int, int]:
        """Give back what `fill` took, if it did. Returns available bytes before and after."""
        return self._two(EMPTY)

    def available(self) -> int:
        """Bytes that can still be written."""
        return int(self._own(AVAILABLE))

    def freeze(self, limit: float) -> None:
        """Let every write wait; reads are answered. What was written by now becomes durable.

        limit  seconds after which the sidecar thaws the disk by itself, whatever becomes of this process. Until then
               the node can be neither killed nor removed.
        Raises InfrastructureError when it is frozen already.
        """
        if not limit > 0:
            raise UsageError(f"freeze(limit={limit!r}): expected seconds above 0")
        self._require_own()
        status, output = self._sidecar("freeze", f"{limit:.3f}")
        if status:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} could not be frozen: {output.strip()}. "
                f"If somebody froze it already, thaw it first"
            )

    def thaw(self) -> None:
        """Let writes go on. Nothing happens to a disk that is not frozen."""
        self._require_own()
        self._sidecar("thaw")
        if self.frozen():
            raise InfrastructureError(f"The disk of {self._node.member.host} could not be thawed within 5 s")

    def frozen(self) -> bool:
        """Whether `freeze`, of this session or another one, is at work."""
        self._require_own()
        return self._sidecar("test", "-e", "/run/frozen")[0] == 0

    def shut_down(self) -> None:
        """From now on every read and write fails (EIO), and nothing of what was not durable becomes so.

        Nothing but an end of the node's process and its next start brings the disk back, as after a loss of power.
        """
        self._own(SHUT_DOWN)

    def power_off(self) -> None:
        """The node loses its power: its process ends at once, and what it had not made durable is gone.

        The next start of the node finds the disk as its journal has it.
        """
        self._require_own()
        try:
            # It shall not see its disk fail and tell others of it.
            self._node.signal("STOP")
        except APIError as error:
            if error.status_code != 409:  # not running
                raise
        self.shut_down()
        self.thaw()
        with self._using:
            self._node.kill()
        # The engine unmounts when the process is gone. Only the last unmount counts, whoever's that is.
        if self._sidecar("unmounted")[0]:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} lost power, but is still mounted 10 s after the end of the "
                f"node's process: another container uses the volume {self._data.volume}; remove that one"
            )

    def mend(self) -> bool:
        """Thaw and empty it. Returns whether it works; else it was shut down, and the node must start anew."""
        self.thaw()
        status, _ = self.run(f"rm -f {BALLAST} && touch {BALLAST} && rm {BALLAST}", timeout=LIMIT)
        return status == 0

    def close(self) -> None:
        """Thaw the disk and remove the sidecar. The next use starts another one."""
        name = sidecar_name(self._data.name)
        try:
            if self._api.inspect_container(name)["State"]["Running"] and self.own:
                self.thaw()
            self._api.remove_container(name, force=True, v=True)
        except NotFound:
            pass

    @cached_property
    def _data(self) -> _Data:
        container = self._api.inspect_container(self._node.container)
        labels = container["Config"]["Labels"] or {}
        volumes = [
            each["Name"] for each in container["Mounts"] if each["Destination"] == DATA and "Name" in each
        ]
        if not volumes or reaper.RUN not in labels:
            raise UsageError(
                f"node {self._node.id} was not started by kafkacheck: where its data lies is not known; use a "
                f"ClusterSpec"
            )
        return _Data(
            container["Name"].lstrip("/"),
            volumes[0],
            {name: labels[name] for name in reaper.OWNERSHIP if name in labels},
            self._device(volumes[0]) is not None,
        )

    def _device(self, volume: str) -> str | None:
        options = self._api.inspect_volume(volume)["Options"] or {}
        return str(options["device"]) if options.get("type") == "ext4" else None

    def _require_own(self) -> None:
        if not self.own:
            raise UsageError(
                f"node {self._node.id} ({self._node.member.role}) has no disk of its own that could fail: start the "
                f"cluster with ClusterSpec(disk_mb=256), which gives one to every broker and controller"
            )

    def _own(self, command: str) -> str:
        """Output of a command that must succeed."""
        self._require_own()
        status, output = self.run(command, timeout=LIMIT)
        if status:
            raise InfrastructureError(
                f"The sidecar of {self._node.member.host} failed with status {status} at "
                f"{shlex.quote(command.strip().splitlines()[0])}: {output.strip()}"
            )
        return output

    def _two(self, command: str) -> tuple[int, int]:
        before, after = self._own(command).split()
        return int(before), int(after)

    def _sidecar(self, *arguments: str, limit: float = LIMIT) -> tuple[int, str]:
        """Exit status and output. `limit`: seconds that the command limits itself to."""
        try:
            return execute(
                self._api, self._ensure(), ["sh", "-c", SCRIPT, "sidecar", *arguments], timeout=limit + LIMIT
            )
        except (APIError, OSError) as error:
            raise InfrastructureError(
                f"The sidecar of {self._node.member.host} did not do {arguments[0]!r}: {error}"
            ) from error

    def _ensure(self) -> str:
        """Name of the sidecar, which runs when this returns."""
        name = sidecar_name(self._data.name)
        try:
            if self._api.inspect_container(name)["State"]["Running"]:
                return name
        except NotFound:
            try:
                self._create(name)
            except APIError as error:
                if error.status_code != 409:  # another thread was faster
                    raise
        self._api.start(name)
        return name

    def _create(self, name: str) -> None:
        _, volume, labels, _ = self._data
        device = self._device(volume)
        if device is None:
            rights = {"mounts": [Mount(DATA, volume, type="volume", labels=dict(labels))]}
        else:
            rights = {
                "cap_add": ["SYS_ADMIN"],
                "security_opt": list(UNCONFINED),
                "devices": [f"{device}:{device}:rwm"],
            }
        self._api.create_container(
            image=agent_image(),
            name=name,
            command=["bash", "-c", HOLD],
            environment={"DEVICE": device or "", "OPTIONS": OPTIONS},
            labels={**labels, "kafkacheck.part": "sidecar"},
            host_config=self._api.create_host_config(
                network_mode="none", mem_limit=MEMORY, pids_limit=PROCESSES, **rights
            ),
        )


class _Data(NamedTuple):
    """name    of the node's container.
    volume     with its data.
    labels     whose it is.
    own        whether it is a file system of its own.
    """

    name: str
    volume: str
    labels: dict[str, str]
    own: bool


def sidecar_name(container: str) -> str:
    """Of the sidecar of the node with a container of that name."""
    return f"{container}-sidecar"
