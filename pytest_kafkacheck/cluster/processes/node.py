"""One node without an engine: its process, in a pod of namespaces."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NoReturn

import psutil

from nemesis.cluster import Ahead, State
from pytest_kafkacheck.cluster.nodes.agent import Agent
from pytest_kafkacheck.cluster.nodes.launch import START, Launch
from pytest_kafkacheck.cluster.nodes.segments import MOST, fitting, too_large
from pytest_kafkacheck.cluster.processes.namespaces import Pod
from pytest_kafkacheck.cluster.spec.member import EXTERNAL, Endpoint, Member
from pytest_kafkacheck.cluster.spec.properties import DATA
from pytest_kafkacheck.errors import InfrastructureError
from workloads.clients.connection import Address
from workloads.clients.protocol import Log

START_LIMIT = 10.0
"""Seconds for a process to be in its pod."""

STOP_LIMIT = 30.0
"""Seconds a controlled shutdown may take before the process is killed."""

KILL_LIMIT = 30.0
"""Seconds for a killed process to be gone."""

EXECUTE_LIMIT = 120.0
"""Seconds for a command: Kafka's own tools are slow on a busy machine."""


def _impossible(*_: object, **__: object) -> NoReturn:
    """What needs control groups, a disk or a clock of the node's own. `boot.REFUSED` has the faults that need it."""
    raise OSError("nodes that are plain processes have no control groups, disks and clocks of their own")


class ProcessDisk:
    """Implements ``nodes.node.NodeDisk`` for data on this machine's own file system."""

    fill = empty = available = freeze = begin_write = write_waited = throttle = shut_down = _impossible
    wait_unmounted = _impossible

    def __init__(self, node: ProcessNode) -> None:
        self._node = node

    def run(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        return self._node.look(command, timeout=timeout)

    def thaw(self) -> None:
        pass

    def frozen(self) -> bool:
        return False

    def throttled(self) -> int | None:
        return None

    def remains(self) -> list[str]:
        return []


class ProcessClock:
    """Implements ``nemesis.cluster.Clock``: the time is this machine's."""

    set = clear = _impossible

    def get(self) -> tuple[float, float]:
        return 0.0, 0.0


class ProcessNode:
    """Implements ``nodes.node.ClusterNode``.

    pod     is ready, and its interface eth0 has the address and the link-layer address.
    launch  with what the process starts.
    log     the file to which it prints.
    release  of Kafka.
    """

    cpu_limit = throttled = limit_memory = memory = limit_cpu = _impossible

    def __init__(
        self,
        member: Member,
        endpoint: Endpoint,
        *,
        pod: Pod,
        mac: str,
        launch: Launch,
        log: Path,
        release: str,
    ) -> None:
        self.id, self.member, self.mac, self.release = member.id, member, mac, release
        self.host, self.probe_port = member.host, member.peer_port
        self.addresses = (endpoint.host,)
        self.agent = Agent(pod.channel, pod=f"the namespaces of {member.host}")
        self.disk, self.clock = ProcessDisk(self), ProcessClock()
        self._endpoint, self._pod, self._log = endpoint, pod, log
        self._environment = launch.environment
        self._waiter: subprocess.Popen[bytes] | None = None
        self._process = 0
        self._incarnation = ""
        self.put(launch.files)

    @property
    def client_address(self) -> Address:
        return self.address(EXTERNAL)

    def address(self, listener: str) -> Address:
        return Address(self._endpoint.host, self._endpoint.ports[listener])

    def state(self) -> State:
        if self.ended():
            return "stopped"
        with suppress(psutil.NoSuchProcess):
            status = psutil.Process(self._process).status()
            if status not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                return "paused" if status == psutil.STATUS_STOPPED else "running"
        return "stopped"

    def ended(self) -> bool:
        return self._waiter is None or self._waiter.poll() is not None

    def incarnation(self) -> str:
        return self._incarnation

    def exit_code(self) -> int:
        assert self._waiter is not None
        status = self._waiter.wait(KILL_LIMIT)
        return 128 - status if status < 0 else status

    def start(self) -> None:
        if not self.ended():
            return
        with self._log.open("ab") as log:
            self._waiter = self._pod.start(
                ["sh", "-c", START], self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_LIMIT
        while not (found := psutil.Process(self._waiter.pid).children()):
            if self.ended() or time.monotonic() > deadline:
                raise InfrastructureError(f"the process of {self.host} did not start; its log is {self._log}")
            time.sleep(0.005)
        self._process, self._incarnation = found[0].pid, secrets.token_hex(4)

    def kill(self) -> None:
        self._end("KILL", KILL_LIMIT)

    def stop(self) -> None:
        try:
            self._end("TERM", STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()

    def _end(self, name: Literal["KILL", "TERM"], limit: float) -> None:
        if self._waiter is not None and not self.ended():
            self._signal(self._process, f"SIG{name}")
            if name == "KILL":
                self._signal(self._waiter.pid, "SIGCONT")  # nsenter stops itself with its child
            self._waiter.wait(limit)

    def signal(self, name: Literal["STOP", "CONT"]) -> None:
        if self._waiter is not None and not self.ended():
            self._signal(self._process, f"SIG{name}")
            if name == "CONT":
                self._signal(self._waiter.pid, "SIGCONT")

    def _signal(self, process: int, name: str) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, signal.Signals[name])

    def freeze(self) -> None:
        _impossible()

    def thaw(self) -> None:
        pass

    def killed_for_memory(self) -> bool:
        return False

    def limits(self) -> list[str]:
        return []

    def ahead(self) -> Ahead:
        return Ahead(at=time.monotonic(), least=0.0, most=0.0, source="the clock of this machine")

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        return self.agent.shell(command, timeout=timeout)

    def look(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        bounded = ["timeout", "-k", "1", f"{timeout:.1f}", "bash", "-c", command]
        with self._pod.start(bounded, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
            output, _ = child.communicate()
        return child.returncode, output.decode(errors="replace").rstrip("\n")

    def execute(self, command: str) -> tuple[int, str]:
        return self.look(command, timeout=EXECUTE_LIMIT)

    def put(self, files: Mapping[str, bytes]) -> None:
        for path, content in files.items():
            file = self._here(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def get(self, path: str) -> bytes:
        return self._here(path).read_bytes()

    def segments(self, logs: Iterable[Log], folder: Path) -> Mapping[Log, list[Path] | OSError]:
        found = {log: sorted(self._here(f"{DATA}/{log[0]}-{log[1]}").glob("*.log")) for log in logs}
        sizes = {log: sum(each.stat().st_size for each in paths) for log, paths in found.items()}
        fits = fitting(sizes, MOST)
        return {
            log: [Path(shutil.copyfile(each, folder / f"{log[0]}-{log[1]}-{each.name}")) for each in paths]
            if log in fits
            else too_large(sizes[log], MOST)
            for log, paths in found.items()
        }

    def logs(self) -> bytes:
        return self._log.read_bytes()

    def _here(self, path: str) -> Path:
        """A file of the node, as this machine sees it."""
        return self._pod.root / path.lstrip("/")
