"""What the engine does with one container: run a command in it, read its files and counters, pause it, limit it."""

from __future__ import annotations

import io
import re
import socket
import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from docker.errors import APIError
from tenacity import Retrying, retry, retry_if_exception, stop_after_attempt, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker.podman import processes
from pytest_kafkacheck.cluster.nodes.agent import Agent

# docker-py's `exec_start` reads from the socket below the HTTP response. It loses output that arrives in the same
# packet as the response's header, which happens now and then on a busy machine.

HEAD = 8
"""Bytes before each piece of output: the number of its stream, three without use, and four with its length."""

STANDARD_ERROR = 2

BLOCK = 1 << 20

STATUS_LIMIT = 5.0
"""Seconds after the end of a command's output within which the engine must know its exit status."""


def execute(
    api: Any,
    container: str,
    command: Sequence[str],
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Exit status and output; standard output and standard error are merged.

    timeout  seconds without any output after which the engine counts as hung. The command must limit itself.
    Raises APIError where the container does not run, OSError when no answer comes.
    """
    run = api.exec_create(container, list(command), environment=dict(environment or {}))["Id"]
    # Without a request to upgrade the connection, the response is ordinary HTTP and is read completely.
    answer = api._post_json(
        api._url("/exec/{0}/start", run), data={"Tty": False, "Detach": False}, timeout=timeout
    )
    api._raise_for_status(answer)
    output = _joined(answer.content)
    return _status(api, run, command, container), output.decode(errors="replace")


def output_of(api: Any, container: str, command: Sequence[str], *, timeout: float) -> Iterator[bytes]:
    """The standard output of a shell command, while it arrives, for output that is too large for the memory.

    Raises OSError, with what it wrote to standard error, where it fails, and as `execute`.
    """
    run = api.exec_create(container, list(command))["Id"]
    answer = api._post_json(
        api._url("/exec/{0}/start", run), data={"Tty": False, "Detach": False}, timeout=timeout, stream=True
    )
    api._raise_for_status(answer)
    errors = b""
    read = answer.raw.read
    while len(head := read(HEAD)) == HEAD:
        left = int.from_bytes(head[4:], "big")
        while left and (piece := read(min(left, BLOCK))):
            left -= len(piece)
            if head[0] == STANDARD_ERROR:
                errors += piece
            else:
                yield piece
    if status := _status(api, run, command, container):
        raise OSError(f"{command[-1]}: status {status}: {errors.decode(errors='replace').strip()}")


class Channel:
    """Implements ``nodes.agent.Channel`` for a command in a container. Its output is a stream of frames."""

    def __init__(
        self, api: Any, container: str, command: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        run = api.exec_create(container, list(command), stdin=True, environment=dict(environment))["Id"]
        self._stream = api.exec_start(run, socket=True)
        self._socket: socket.socket = getattr(self._stream, "_sock", self._stream)
        self._frames = b""

    def settimeout(self, value: float | None) -> None:
        self._socket.settimeout(value)

    def sendall(self, data: bytes) -> None:
        self._socket.sendall(data)

    def recv(self, size: int) -> bytes:
        while len(self._frames) < HEAD or len(self._frames) < (
            end := HEAD + int.from_bytes(self._frames[4:HEAD], "big")
        ):
            if not (data := self._socket.recv(size)):
                return b""
            self._frames += data
        output, self._frames = self._frames[HEAD:end], self._frames[end:]
        return output

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def agent_in(api: Any, pod: str) -> Agent:
    """An agent in the container with that id."""
    return Agent(partial(Channel, api, pod), pod=pod[:12])


def _status(api: Any, run: str, command: Sequence[str], container: str) -> int:
    """The exit status of a command that has closed its output."""
    deadline = time.monotonic() + STATUS_LIMIT
    while (state := api.exec_inspect(run))["Running"] or state["ExitCode"] is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{command[0]} in {container} closed its output, but has not ended")
        time.sleep(0.01)
    return int(state["ExitCode"])


def _joined(frames: bytes) -> bytes:
    """The data of all pieces of output."""
    parts, at = [], 0
    while at + HEAD <= len(frames):
        size = int.from_bytes(frames[at + 4 : at + HEAD], "big")
        parts.append(frames[at + HEAD : at + HEAD + size])
        at += HEAD + size
    return b"".join(parts)


def read_file(api: Any, container: str, path: str) -> bytes:
    """Its content. Raises FileNotFoundError, with the engine's message, when it cannot be read."""
    try:
        stream, _ = api.get_archive(container, path)
    except APIError as error:
        raise FileNotFoundError(f"{container[:12]}:{path}: {error.explanation}") from error
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        file = archive.extractfile(archive.next() or path)
        assert file is not None
        return file.read()


ATTEMPTS = 2
"""Number of attempts. The engine gives up each of them after half a minute."""


def _gave_up(error: BaseException) -> bool:
    # With control groups of version 1 the kernel may fail to freeze a container that keeps creating threads. runc
    # then tries a thousand times, thaws the threads it has frozen, and reports this error.
    return isinstance(error, APIError) and "unable to freeze" in str(error.explanation)


@retry(retry=retry_if_exception(_gave_up), stop=stop_after_attempt(ATTEMPTS), reraise=True)
def pause(api: Any, container: str) -> None:
    """Raises docker's APIError, "unable to freeze" only after `ATTEMPTS`."""
    api.pause(container)


def is_stopped_by_signal(api: Any, container: str) -> bool:
    """The engine does not report SIGSTOP, but its process list has the process state of java."""
    return any(state.startswith("T") for state in processes(api, container, "state"))


CPU_PERIOD = 100_000
"""Microseconds: the period in which the kernel accounts for a container's CPU quota."""

SWAP = 1 << 20
"""Bytes that may be swapped out. Where the limit with swap is the same as that without, version 1 of control groups
counts at neither of them how often it was reached (seen with Linux 6.18)."""

ENDED_LIMIT = 10.0
"""Seconds for the engine to learn that a container has ended, of which it changes the limits, too."""


def limit_cpu(api: Any, container: str, cores: float | None) -> None:
    quota = -1 if cores is None else max(1000, round(cores * CPU_PERIOD))
    api.update_container(container, cpu_period=CPU_PERIOD, cpu_quota=quota)


def cpu_limit(api: Any, container: str) -> float | None:
    """Cores; None for no limit."""
    quota = int(api.inspect_container(container)["HostConfig"]["CpuQuota"] or -1)
    return None if quota <= 0 else quota / CPU_PERIOD


def throttled(api: Any, container: str) -> int:
    """How often the kernel has throttled it since its start."""
    # A command in the container would be held back with the process, for seconds.
    found = api.inspect_container(container)
    if (here := throttled_periods(int(found["State"]["Pid"]), found["Id"])) is not None:
        return here
    stats = api.stats(container, stream=False, one_shot=True)["cpu_stats"]
    return int(stats["throttling_data"]["throttled_periods"])


def limit_memory(api: Any, container: str, size: int | None, *, name: str) -> None:
    """Bytes; None for no limit. Raises OSError where the engine refuses."""
    # The engine has no value for "no limit" here, so the limit becomes all memory of its host.
    size = size or int(api.info()["MemTotal"])
    # The kernel may kill the process at its limit while that is being changed.
    patiently = Retrying(
        retry=retry_if_exception(_has_just_ended),
        stop=stop_after_delay(ENDED_LIMIT),
        wait=wait_fixed(0.1),
        reraise=True,
    )
    try:
        patiently(api.update_container, container, mem_limit=size, memswap_limit=size + SWAP)
    except APIError as error:
        raise OSError(f"{name} could not be limited to {size} bytes: {error.explanation}") from error


def memory_limit(api: Any, container: str) -> int | None:
    """Bytes; None for no limit."""
    size = int(api.inspect_container(container)["HostConfig"]["Memory"])
    return size if 0 < size < int(api.info()["MemTotal"]) else None


def _has_just_ended(error: BaseException) -> bool:
    return isinstance(error, APIError) and "container not running" in (error.explanation or "")


# Counters of control groups are read from this host where the container runs on it. The engine gives them as well,
# but on a machine without idle processor time its answer takes seconds.

PROCESSES = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")


def throttled_periods(
    pid: int, container: str, *, processes: Path = PROCESSES, groups: Path = GROUPS
) -> int | None:
    """How often the kernel has throttled the container; None where its process is not one of this host.

    pid        of the container's first process, as the engine knows it.
    container  its full id, which is part of its control group's name.
    """
    for folder, _ in _folders(pid, container, "cpu", processes, groups):
        if (found := _number(folder / "cpu.stat", r"^nr_throttled (\d+)$")) is not None:
            return found
    return None


class Memory(NamedTuple):
    """used: bytes, with cached files. reached: how often the processes needed more than the limit."""

    used: int
    reached: int


def memory(pid: int, container: str, *, processes: Path = PROCESSES, groups: Path = GROUPS) -> Memory | None:
    """As `throttled_periods`."""
    for folder, version in _folders(pid, container, "memory", processes, groups):
        if version == 2:
            used = _number(folder / "memory.current", r"(\d+)")
            reached = _number(folder / "memory.events", r"^max (\d+)$")
        else:
            used = _number(folder / "memory.usage_in_bytes", r"(\d+)")
            reached = _number(folder / "memory.failcnt", r"(\d+)")
        if used is not None and reached is not None:
            return Memory(used, reached)
    return None


def _folders(
    pid: int, container: str, controller: str, processes: Path, groups: Path
) -> Iterator[tuple[Path, int]]:
    """Of the control groups that may have the controller, each with the version of its hierarchy."""
    try:
        lines = (processes / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return  # another host, or a process that has just ended
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if container in path and (not controllers or controller in controllers.split(",")):
            tree = groups / controller if controllers else groups
            yield tree / path.lstrip("/"), 1 if controllers else 2


def _number(file: Path, pattern: str) -> int | None:
    try:
        found = re.search(pattern, file.read_text(), re.M)
    except OSError:
        return None
    return int(found[1]) if found else None


SERVICE = "com.docker.compose.service"

Container = Mapping[str, Any]
"""As the engine describes it."""


def published_ports(container: Container) -> dict[int, int]:
    """TCP ports in the container by port of the engine's host."""
    bindings = container["NetworkSettings"]["Ports"] or {}
    return {
        int(each["HostPort"]): int(name.removesuffix("/tcp"))
        for name, published in bindings.items()
        if name.endswith("/tcp")
        for each in published or ()
    }


def names_of(container: Container) -> set[str]:
    """All names by which its peers may reach it."""
    networks = container["NetworkSettings"]["Networks"].values()
    aliases = {alias for network in networks for alias in network.get("Aliases") or ()}
    labels = container["Config"]["Labels"] or {}
    return {
        container["Name"].lstrip("/"),
        container["Config"]["Hostname"],
        labels.get(SERVICE, ""),
        *aliases,
    } - {""}


def container_named(name: str, containers: Iterable[Container]) -> Container | None:
    """The first one that its peers may reach by that name."""
    return next((each for each in containers if name in names_of(each)), None)


def archive(files: Mapping[str, bytes]) -> bytes:
    """A tar archive rooted at / of files given by absolute path: the form in which the engine takes files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.size, entry.mode = len(data), 0o600  # some contain keys; nodes run as root
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
