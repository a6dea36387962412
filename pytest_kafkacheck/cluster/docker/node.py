"""One node in Docker: the container of its process, and the pod that owns its network (see `plan`)."""

from __future__ import annotations

import json
import shlex
import tarfile
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from io import RawIOBase
from pathlib import Path
from typing import IO, Any, Literal, cast

from docker.errors import APIError
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from nemesis.cluster import Ahead, State
from pytest_kafkacheck.cluster.docker import containers
from pytest_kafkacheck.cluster.docker.clock import VirtualClock, ahead
from pytest_kafkacheck.cluster.docker.containers import (
    agent_in,
    archive,
    execute,
    is_stopped_by_signal,
    output_of,
    pause,
    read_file,
)
from pytest_kafkacheck.cluster.docker.disk import Disk
from pytest_kafkacheck.cluster.docker.plan import SPEC
from pytest_kafkacheck.cluster.nodes.node import CLOCK_MARK, DISK_MARK, WRITE_LIMIT_MARK
from pytest_kafkacheck.cluster.nodes.segments import MOST, fitting, too_large
from pytest_kafkacheck.cluster.spec.member import EXTERNAL, Endpoint, Member
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address
from workloads.clients.protocol import Log
from workloads.clients.security import Security

STOP_LIMIT = 30
"""Seconds a controlled shutdown may take before the engine kills the process."""

EXECUTE_LIMIT = 120
"""Seconds for a command in a node's container: Kafka's own tools are slow on a busy machine."""

LOOK_MARGIN = 10.0
"""Seconds beyond a command's own limit for the engine to start it and to hand over its output."""

MEMORY = """cd /sys/fs/cgroup
if [ -e memory.max ]; then echo "used $(cat memory.current)"; echo "allowed $(sed s/max/0/ memory.max)"
else echo "used $(cat memory/memory.usage_in_bytes)"; echo "allowed $(cat memory/memory.limit_in_bytes)"; fi"""
"""Shell command that prints the bytes in use and the limit, 0 for none, in either version of control groups."""


class DockerNode:
    """Implements ``nodes.node.ClusterNode``.

    endpoint       where the host reaches it.
    security       how clients authenticate and encrypt, by listener; listeners in plain text are missing.
    before_start   called before each start; returns when the cluster accepts the node.
    owner          labels for containers that are made for this node.
    """

    def __init__(
        self,
        client: Any,
        *,
        member: Member,
        endpoint: Endpoint,
        container: str,
        pod: str,
        security: Mapping[str, Security] | None = None,
        before_start: Callable[[], None] = lambda: None,
        owner: Mapping[str, str],
    ) -> None:
        self.id = member.id
        self.member = member
        self.endpoint = endpoint
        self.container = container
        self.pod = pod
        self.agent = agent_in(client.api, pod)
        self.probe_port = member.peer_port
        self._client = client
        self._api = client.api
        self._security = dict(security or {})
        self._before_start = before_start
        self._owner = dict(owner)
        self._printed = b""
        """By the processes of its earlier containers."""

    @property
    def client_address(self) -> Address:
        return self.address(EXTERNAL)

    def address(self, listener: str) -> Address:
        return Address(self.endpoint.host, self.endpoint.ports[listener], self._security.get(listener))

    @property
    def host(self) -> str:
        return self.member.host

    @property
    def mac(self) -> str:
        return str(self._network["MacAddress"])

    @property
    def addresses(self) -> tuple[str, ...]:
        found = (self._network["IPAddress"], self._network["GlobalIPv6Address"])
        return tuple(address for address in found if address)

    def state(self) -> State:
        state = self._api.inspect_container(self.container)["State"]
        if not state["Running"]:
            return "stopped"
        try:
            paused = state["Paused"] or is_stopped_by_signal(self._api, self.container)
        except APIError:
            if not self._api.inspect_container(self.container)["State"]["Running"]:
                return "stopped"  # it ended between the two requests
            raise
        return "paused" if paused else "running"

    def ended(self) -> bool:
        # Unlike `state` it does not list processes, which takes processor time that starting nodes wait for.
        return not self._api.inspect_container(self.container)["State"]["Running"]

    def incarnation(self) -> str:
        return str(self._api.inspect_container(self.container)["State"]["StartedAt"])

    def exit_code(self) -> int:
        return int(self._api.inspect_container(self.container)["State"]["ExitCode"])

    def kill(self) -> None:
        try:
            self._api.kill(self.container, signal="SIGKILL")
        except APIError as error:
            if error.status_code != 409:  # not running: nothing to kill
                raise
        self._api.wait(self.container, timeout=30)

    def stop(self, *, limit: int = STOP_LIMIT) -> None:
        """Controlled shutdown (SIGTERM); killed after `limit` seconds. Returns when the process is gone."""
        self._api.stop(self.container, timeout=limit)

    def start(self) -> None:
        self._before_start()
        self._api.start(self.container)

    def restart(self) -> None:
        """Controlled shutdown and start. Returns when the process runs, not when it serves."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        try:
            pause(self._api, self.container)
        except APIError as error:
            raise OSError(
                f"the engine could not freeze {self.container[:12]}: {error.explanation}"
            ) from error

    def thaw(self) -> None:
        if self._api.inspect_container(self.container)["State"]["Paused"]:
            self._api.unpause(self.container)

    def signal(self, name: Literal["STOP", "CONT"]) -> None:
        self._api.kill(self.container, signal=f"SIG{name}")

    @cached_property
    def clock(self) -> VirtualClock:
        return VirtualClock(
            self._client, self, owner=self._owner, before_set=lambda: self.shell(f"touch {CLOCK_MARK}")
        )

    def ahead(self) -> Ahead:
        try:
            return ahead(self._api, self.container, name=self.host)
        except APIError as error:
            raise OSError(f"{self.host} cannot be asked for its time: {error.explanation}") from error

    def limit_cpu(self, cores: float | None) -> None:
        containers.limit_cpu(self._api, self.container, cores)

    def cpu_limit(self) -> float | None:
        return containers.cpu_limit(self._api, self.container)

    def throttled(self) -> int:
        return containers.throttled(self._api, self.container)

    def limit_memory(self, size: int | None) -> None:
        containers.limit_memory(self._api, self.container, size, name=self.member.host)

    def memory(self) -> tuple[int, int]:
        _, output = self.execute(MEMORY)
        return _number_after(output, "used"), _number_after(output, "allowed") or int(
            self._api.info()["MemTotal"]
        )

    def limits(self) -> list[str]:
        found = []
        if (cores := self.cpu_limit()) is not None:
            found.append(f"it is limited to {cores:g} cores")
        if (size := containers.memory_limit(self._api, self.container)) is not None:
            found.append(f"it is limited to {size >> 20} MiB")
        return found

    def killed_for_memory(self) -> bool:
        return bool(self._api.inspect_container(self.container)["State"]["OOMKilled"])

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        return self.agent.shell(command, timeout=timeout)

    def look(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        # One stream, so that the output keeps its order.
        bounded = ["timeout", "-k", "1", f"{timeout:.1f}", "bash", "-c", f"exec 2>&1\n{command}"]
        try:
            status, output = execute(self._api, self.pod, bounded, timeout=timeout + LOOK_MARGIN)
        except (APIError, OSError) as error:
            raise InfrastructureError(
                f"The pod of {self.member.host} did not answer {command!r} within {timeout + LOOK_MARGIN:.0f} s: "
                f"{error!r}"
            ) from error
        return status, output.rstrip("\n")

    @cached_property
    def disk(self) -> Disk:
        """The node's data, whether the node runs or not, and faults of its disk."""
        return Disk(
            self._client,
            self,
            before_fault=lambda: self.shell(f"touch {DISK_MARK}"),
            before_limit=lambda: self.shell(f"touch {WRITE_LIMIT_MARK}"),
        )

    def close_disk(self) -> None:
        """Thaw the disk and remove its sidecar, if `disk` was used."""
        if "disk" in vars(self):
            self.disk.close()

    def execute(self, command: str) -> tuple[int, str]:
        """Exit status and output of a shell command in the node's own container, which must run."""
        return execute(self._api, self.container, ["sh", "-c", command], timeout=EXECUTE_LIMIT)

    @property
    def release(self) -> str:
        labels = self._api.inspect_container(self.container)["Config"]["Labels"]
        return str(json.loads(labels[SPEC])["version"])

    def replace_container(self, container: str, *, printed: bytes) -> None:
        """Another container is the node's. printed: the log of the former one."""
        self._printed += printed
        self.container = container

    def put(self, files: Mapping[str, bytes]) -> None:
        self._api.put_archive(self.container, "/", archive(files))

    def get(self, path: str) -> bytes:
        return read_file(self._api, self.container, path)

    def segments(self, logs: Iterable[Log], folder: Path) -> Mapping[Log, list[Path] | OSError]:
        # The container must run.
        return copy_segments(self._api, self.container, logs, folder)

    def logs(self) -> bytes:
        return self._printed + bytes(
            self._api.logs(self.container, stdout=True, stderr=True, timestamps=False)
        )

    @cached_property
    def _network(self) -> dict[str, Any]:
        (settings,) = self._api.inspect_container(self.pod)["NetworkSettings"]["Networks"].values()
        return dict(settings)


def _number_after(output: str, name: str) -> int:
    """The number after a word that begins a line; 0 where there is no such line."""
    found = [line.split()[1] for line in output.splitlines() if line.startswith(f"{name} ")]
    return int(found[0]) if found else 0


TIMEOUT = 30.0
"""Seconds without any output."""

# Not whole folders: indexes are made with their full size of 10 MB. The cleaner may take a file away meanwhile.
LISTED = (
    "cd {data} && for file in {patterns}; do "
    "[ ! -e $file ] || stat -c '%s %n' $file 2>/dev/null || [ ! -e $file ] || exit 1; done"
)

# Status 1: a file grew meanwhile. 2: one is gone, or could not be read.
ARCHIVED = "cd {data} && tar -cf - {patterns}; status=$?; [ $status -eq 1 ] || exit $status"

COPIES = 3
"""Attempts to copy segments. The cleaner replaces segments once in some seconds at most."""


@retry(retry=retry_if_exception_type(OSError), stop=stop_after_attempt(COPIES), reraise=True)
def copy_segments(
    api: Any, container: str, logs: Iterable[Log], folder: Path
) -> Mapping[Log, list[Path] | OSError]:
    """Copy the segments of these partitions into the folder, the smallest partitions first.

    Returns the copies of each, in the order of their offsets; none for a partition that the node does not have, and
    an OSError for one that would make the copies larger than `MOST`.
    Raises OSError where they cannot be read, or APIError where the container does not run.
    """
    names = {f"{topic}-{partition}": (topic, partition) for topic, partition in logs}
    sizes = _sizes(api, container, names)
    fits = fitting(sizes, MOST)
    found: dict[Log, list[Path]] = {names[name]: [] for name in fits}
    left_out = {log: too_large(sizes[name], MOST) for name, log in names.items() if log not in found}
    patterns = " ".join(_pattern(name) for name in fits if sizes[name])
    if not patterns:
        return {**found, **left_out}
    command = ARCHIVED.format(data=DATA, patterns=patterns)
    stream = _Stream(output_of(api, container, ["sh", "-c", command], timeout=TIMEOUT))
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        for member in archive:
            log = names[str(Path(member.name).parent)]
            copy = folder / f"{log[0]}-{log[1]}-{Path(member.name).name}"
            source = archive.extractfile(member)
            assert source is not None, member.name
            with copy.open("wb") as target:
                while block := source.read(1 << 20):
                    target.write(block)
            found[log].append(copy)
    while stream.read(1 << 20):  # the rest has no files; after it comes the status
        pass
    return {**{log: sorted(paths) for log, paths in found.items()}, **left_out}


def _sizes(api: Any, container: str, names: Iterable[str]) -> dict[str, int]:
    """Bytes of the segments of each partition; 0 without any."""
    command = LISTED.format(data=DATA, patterns=" ".join(map(_pattern, names)))
    status, output = execute(api, container, ["sh", "-c", command], timeout=TIMEOUT)
    if status:
        raise OSError(f"the segments in {DATA} cannot be listed: {output.strip()}")
    sizes = dict.fromkeys(names, 0)
    for line in output.splitlines():
        size, _, name = line.partition(" ")
        sizes[str(Path(name).parent)] += int(size)
    return sizes


def _pattern(name: str) -> str:
    return f"{shlex.quote(name)}/*.log"


class _Stream(RawIOBase):
    """What tarfile reads of an output that arrives piece by piece."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._rest = iter(pieces), b""

    def read(self, size: int = -1) -> bytes:
        parts = [self._rest]
        length = len(self._rest)
        while (size < 0 or length < size) and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            length += len(piece)
        data = b"".join(parts)
        size = len(data) if size < 0 else size
        self._rest = data[size:]
        return data[:size]
