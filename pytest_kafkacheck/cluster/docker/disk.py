"""Faults of a node's disk: full, stalled, slow, failed, without power. A sidecar carries them out."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

from docker.errors import APIError, NotFound

from pytest_kafkacheck.cluster.docker.disk_sidecar import LIMIT, Sidecar, SidecarOwner
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError, UsageError

BALLAST = f"{DATA}/.kafkacheck-ballast"
"""The file that fills a disk. Kafka ignores files with unknown names in its data directory."""

WRITE_LIMIT = 10.0
"""Seconds for a write of one empty file."""

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


class DiskOwner(SidecarOwner, Protocol):
    """What a disk needs of its node."""

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
        self._sidecar = Sidecar(client, node)
        self._before_fault = before_fault
        self._before_limit = before_limit
        self._using = threading.Lock()
        """Held while a command may have the file system mounted."""

    @property
    def own(self) -> bool:
        """Whether the node has a file system of its own."""
        return self._sidecar.data.own

    def run(self, command: str, *, timeout: float = LIMIT) -> tuple[int, str]:
        """Exit status (124 when the time was up) and output of a shell command; the node's data is in /k/data.

        It runs as root in the agents' image, which has coreutils and perl. The last MiB of the output is returned. A
        command that writes to a frozen disk cannot be killed: it stays until the thaw.
        """
        with self._using:
            return self._sidecar.do("run", str(timeout), command, limit=timeout)

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
        status, output = self._sidecar.do("freeze", f"{limit:.3f}")
        if status:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} could not be frozen: {output.strip()}. "
                f"If it is frozen already, thaw it first"
            )

    def thaw(self) -> None:
        """Let writes go on. Does nothing to a disk that is not frozen."""
        self._require_own()
        self._sidecar.do("thaw")
        if self.frozen():
            raise InfrastructureError(f"The disk of {self._node.member.host} could not be thawed within 5 s")

    def frozen(self) -> bool:
        """Whether the disk is frozen, by this session or another one."""
        self._require_own()
        return self._sidecar.do("test", "-e", "/run/frozen")[0] == 0

    def begin_write(self, name: str) -> None:
        """Begin a write of one byte, which goes on in the sidecar. Returns when it has begun.

        name  identifies it, also in the name of a file on the disk; letters, digits and hyphens.
        """
        self._require_own()
        status, output = self._sidecar.do("begin_write", name)
        if status:
            raise InfrastructureError(
                f"No write could be begun on the disk of {self._node.member.host}: {output.strip()}"
            )

    def write_waited(self, name: str) -> tuple[float, bool]:
        """(seconds since that write began, or that it took; whether it has ended)."""
        status, output = self._sidecar.do("write_waited", name)
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
        device, labels = self._sidecar.data.device, self._sidecar.data.labels
        assert device is not None
        return write_limit(self._api, self._node.container, device, *rate, labels=labels)

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
        if self._sidecar.do("unmounted")[0]:
            raise InfrastructureError(
                f"The disk of {self._node.member.host} lost power, but is still mounted 10 s after the end of the "
                f"node's process: another container uses the volume {self._sidecar.data.volume}; remove that one"
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
        if self._sidecar.is_running() and self.own:
            self.thaw()
        self._sidecar.remove()

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


# The engine's own call to limit writes (``update`` with a rate of a device) reports success and changes nothing, so a
# helper container writes into the host's control groups. With version 1 of them it has access to the tree of block
# devices only.

SCRIPT = Path(__file__).with_name("write_limit.sh").read_text()

HELPER_LIMIT = 20
"""Seconds for the helper container to end."""


def write_limit(
    api: Any, container: str, device: str, *change: int | None, labels: Mapping[str, str]
) -> int | None:
    """The limit in bytes per second that the kernel reports, after a change to `change`; None for none.

    A container that does not run has no control group, and so no limit. Raises InfrastructureError when the kernel
    has no such limit, or the helper may not set it.
    """
    if not api.inspect_container(container)["State"]["Running"]:
        return None
    rates = [str(rate or 0) for rate in change]
    tree = "/sys/fs/cgroup/blkio" if api.info().get("CgroupVersion", "1") == "1" else "/sys/fs/cgroup"
    helper = api.create_container(
        image=agent_image(),
        command=["sh", "-c", SCRIPT, "write_limit", container, device, *rates],
        labels=dict(labels),
        network_disabled=True,
        # The files belong to root: the helper needs no capability.
        host_config=api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            binds={tree: {"bind": "/host/cgroup", "mode": "rw"}},
        ),
    )["Id"]
    try:
        api.start(helper)
        status = int(api.wait(helper, timeout=HELPER_LIMIT)["StatusCode"])
        output = api.logs(helper).decode(errors="replace").strip()
    except (APIError, OSError) as error:
        raise InfrastructureError(f"The helper for the limit of {device} does not run: {error}") from error
    finally:
        with suppress(NotFound):
            api.remove_container(helper, force=True, v=True)
    if status:
        raise InfrastructureError(f"The writes to {device} could not be limited (status {status}): {output}")
    return int(output) or None
