"""A node's data directory, seen from a sidecar, and faults of its disk: full, stalled, failed, without power.

The sidecar starts at first use and has access to the data whether the node runs, is paused or is dead. Where the node
has a disk of its own (``ClusterSpec(disk_mb=...)``), each command mounts the disk for itself and unmounts it at its
end: a file system that lost power recovers only after its last unmount, by whichever container.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from docker.errors import APIError, NotFound
from docker.types import Mount

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.executing import execute
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.docker.loop_devices import OPTIONS, UNCONFINED
from pytest_kafkacheck.cluster.docker.write_limit import write_limit
from pytest_kafkacheck.cluster.spec.member import Member
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError, UsageError

BALLAST = f"{DATA}/.kafkacheck-ballast"
"""The file that fills a disk. Kafka ignores files with unknown names in its data directory."""

LIMIT = 30.0
"""Seconds for one command in the sidecar."""

WRITE_LIMIT = 10.0
"""Seconds for a write of one empty file."""

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

AVAILABLE = f"df --output=avail -B1 {DATA} | tail -n 1"

# Free space changes while this runs, and the file needs a block or two for its own metadata, so it takes several
# tries. What a broker frees afterwards (it replaces small files all the time) does not count.
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
echo "$before $free"
"""
EMPTY = f"""
before=$({AVAILABLE})
rm -f {BALLAST} || exit
echo "$before $({AVAILABLE})"
"""

# FS_IOC_SHUTDOWN with NOLOGFLUSH: nothing is written any more, the journal included.
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
    """The disk of one node. Every method raises InfrastructureError when the sidecar or the disk is not done in time.

    ``run`` works for every node that kafkacheck started. All other methods raise UsageError where the node has no
    disk of its own.
    """

    def __init__(
        self,
        client: Any,
        node: DiskOwner,
        *,
        before_fault: Callable[[], object] = lambda: None,
        before_limit: Callable[[], object] = lambda: None,
    ) -> None:
        """`before_fault`: called before the disk is filled, frozen or shut down. `before_limit`: called before writes
        are limited. A session that dies afterwards leaves a trace of it."""
        self._api = client.api
        self._node = node
        self._before_fault = before_fault
        self._before_limit = before_limit
        self._using = threading.Lock()
        """Held while a command may have the file system mounted."""

    @property
    def own(self) -> bool:
        """Whether the node has a file system of its own."""
        return self._data.own

    def run(self, command: str, *, timeout: float = LIMIT) -> tuple[int, str]:
        """Exit status (124 when the time was up) and output of a shell command; the node's data is in /k/data.

        It runs as root in the agents' image, which has coreutils and perl. The last MiB of the output is returned. A
        command that writes to a frozen disk cannot be killed: it stays until the thaw.
        """
        with self._using:
            return self._sidecar("run", str(timeout), command, limit=timeout)

    def fill(self) -> tuple[int, int]:
        """Take all space that is left. Returns available bytes before and after; the latter is 0.

        Writes to blocks that are allocated already still succeed: Kafka's indexes, and the last 4 KiB of a file.
        A broker that replaces small files can free some blocks later, and takes them again.
        """
        self._require_own()
        self._before_fault()
        before, after = self._before_and_after(FILL)
        if after:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} could not be filled: {after} of {before} bytes stayed "
                f"available. Something frees space at the same time; fill it again"
            )
        return before, after

    def empty(self) -> tuple[int, int]:
        """Release the space that `fill` took, if any. Returns available bytes before and after."""
        return self._before_and_after(EMPTY)

    def available(self) -> int:
        """Bytes that can still be written."""
        return int(self._run_on_own_disk(AVAILABLE))

    def freeze(self, limit: float) -> None:
        """Block every write until the thaw; reads go on. Data that was written before becomes durable.

        limit  seconds after which the sidecar thaws the disk by itself, even if this process is gone. Until the thaw
               the node can be neither killed nor removed.
        Raises InfrastructureError when the disk is frozen already.
        """
        if not limit > 0:
            raise UsageError(f"freeze(limit={limit!r}): expected seconds above 0")
        self._require_own()
        self._before_fault()
        status, output = self._sidecar("freeze", f"{limit:.3f}")
        if status:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} could not be frozen: {output.strip()}. "
                f"If it is frozen already, thaw it first"
            )

    def thaw(self) -> None:
        """Let writes go on. Does nothing to a disk that is not frozen."""
        self._require_own()
        self._sidecar("thaw")
        if self.frozen():
            raise InfrastructureError(f"The disk of {self._node.member.host} could not be thawed within 5 s")

    def frozen(self) -> bool:
        """Whether the disk is frozen, by this session or another one."""
        self._require_own()
        return self._sidecar("test", "-e", "/run/frozen")[0] == 0

    def begin_write(self, name: str) -> None:
        """Begin a write of one byte, which goes on in the sidecar. Returns when it has begun.

        name  identifies it, also in the name of a file on the disk; letters, digits and hyphens.
        """
        self._require_own()
        status, output = self._sidecar("begin_write", name)
        if status:
            raise InfrastructureError(
                f"No write could be begun on the disk of {self._node.member.host}: {output.strip()}"
            )

    def write_waited(self, name: str) -> tuple[float, bool]:
        """(seconds since that write began, or that it took; whether it has ended)."""
        status, output = self._sidecar("write_waited", name)
        if status:
            raise InfrastructureError(f"The write {name} on the disk of {self._node.member.host} never began")
        state, nanoseconds = output.split()
        return int(nanoseconds) / 1e9, state == "ended"

    def throttle(self, rate: int | None) -> None:
        """Limit what the broker's container writes to the disk, in bytes per second; None for no limit.

        The kernel counts what the processes of the container write to the device themselves: each fsync, and direct
        writes. What the kernel writes back later, on its own, is not limited in version 1 of control groups. The
        limit ends with the process.
        """
        if rate is not None:
            self._before_limit()
        self._limit(rate)

    def throttled(self) -> int | None:
        """The limit that the kernel reports; None for none."""
        return self._limit()

    def _limit(self, *rate: int | None) -> int | None:
        self._require_own()
        device = self._device(self._data.volume)
        assert device is not None
        return write_limit(self._api, self._node.container, device, *rate, labels=self._data.labels)

    def shut_down(self) -> None:
        """Make every read and write fail (EIO). Data that is not durable by now is lost.

        The disk recovers when the node's process has ended and starts again, as after a power loss.
        """
        self._require_own()
        self._before_fault()
        self._run_on_own_disk(SHUT_DOWN)

    def power_off(self) -> None:
        """Simulate a power loss: the node's process ends at once, and data that it had not made durable is lost.

        The next start of the node recovers the file system from its journal.
        """
        self._require_own()
        try:
            # Stop the process first, so that it does not see its disk fail and report that to its peers.
            self._node.signal("STOP")
        except APIError as error:
            if error.status_code != 409:  # not running
                raise
        self.shut_down()
        self.thaw()
        with self._using:
            self._node.kill()
        self.wait_unmounted()

    def wait_unmounted(self) -> None:
        """Wait until no container has the disk mounted: then the next one to mount it recovers its file system."""
        self._require_own()
        # The engine unmounts the disk when the process is gone. Data is lost only at the last unmount of all
        # containers.
        if self._sidecar("unmounted")[0]:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} lost power, but is still mounted 10 s after the end of the "
                f"node's process: another container uses the volume {self._data.volume}; remove that one"
            )

    def remains(self) -> list[str]:
        """What faults have left, apart from a limit of writes: a line for each. Takes a sidecar."""
        if self.frozen():
            return ["its disk is frozen"]
        look = f"if [ -e {BALLAST} ]; then echo filled; else touch {BALLAST} && rm {BALLAST}; fi"
        status, output = self.run(look, timeout=WRITE_LIMIT)
        if status:
            return [f"its disk takes no write: {output.strip() or f'none ended within {WRITE_LIMIT:.0f} s'}"]
        return [f"its disk is filled by {BALLAST}"] if output.strip() == "filled" else []

    def repair(self) -> bool:
        """Thaw and empty the disk. Returns False if it was shut down: then the node must be restarted."""
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
                f"node {self._node.id} was not started by kafkacheck, so where its data is cannot be known; use "
                f"a ClusterSpec"
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

    def _run_on_own_disk(self, command: str) -> str:
        """Output of a command that must succeed."""
        self._require_own()
        status, output = self.run(command, timeout=LIMIT)
        if status:
            raise InfrastructureError(
                f"The sidecar of {self._node.member.host} failed with status {status} at "
                f"{shlex.quote(command.strip().splitlines()[0])}: {output.strip()}"
            )
        return output

    def _before_and_after(self, command: str) -> tuple[int, int]:
        before, after = self._run_on_own_disk(command).split()
        return int(before), int(after)

    def _sidecar(self, *arguments: str, limit: float = LIMIT) -> tuple[int, str]:
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
        name = sidecar_name(self._data.name)
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
        _, volume, labels, _ = self._data
        device = self._device(volume)
        if device is None:
            rights = {"mounts": [Mount(DATA, volume, type="volume", labels=dict(labels))]}
        else:
            rights = {
                "cap_add": ["SYS_ADMIN"],
                "security_opt": list(UNCONFINED),
                "devices": [f"{device}:{device}:rw"],
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


class _Data(NamedTuple):
    """Where a node's data is.

    name    name of the node's container.
    volume  name of the volume with its data.
    labels  labels of its owner.
    own     whether the volume is a file system of its own.
    """

    name: str
    volume: str
    labels: dict[str, str]
    own: bool


def sidecar_name(container: str) -> str:
    """Name of the sidecar of the node whose container has that name."""
    return f"{container}-sidecar"
