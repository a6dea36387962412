"""Processes that own namespaces: a switch for each cluster, and a pod for each node.

A namespace exists for as long as a process is in it. Each of these processes reads its standard input, whose other
end this session has. However the session ends, they read end of file and end, too. With the first process of a pod,
the kernel kills all others of it, and with the last process in a network namespace it removes the interfaces there.
So nothing is left, and no session has to find out what a killed one left:

    pytest                 switch                       pod of kafka1
    starts both        →   bridge, and a veth to    ←   eth0, its other end at the bridge; java, agents
                           this machine
    SIGKILL                reads end of file            reads end of file
    -                      its veths vanish             the kernel kills java and the agents; eth0 vanishes
                           removes the files

The bridge is in a namespace of its own because rules of this machine, such as those of Docker, may apply to packets
that cross a bridge (net.bridge.bridge-nf-call-iptables), and there are none in a new namespace.
"""

from __future__ import annotations

import random
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from pytest_kafkacheck.errors import InfrastructureError

POD = Path(__file__).with_name("pod.sh").read_text()

SWITCH = """
ip link add bridge type bridge && ip link set bridge up && echo ready
read -r _
for attempt in $(seq 100); do
  rm -rf "$FOLDER" && break
  sleep 0.1 # pods still write
done
"""
"""The first process of a switch. It also removes the cluster's files, which the kernel does not."""

NETWORKS = 512
"""Networks of 256 addresses in 198.18.0.0/15, which RFC 2544 reserves for tests: nobody routes them."""

END_LIMIT = 20.0
"""Seconds for the processes of a namespace to be gone."""


class Holder:
    """A process that owns namespaces until `close`, or until this process ends."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        # In a session of its own, it does not get the terminal's Ctrl-C.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )

    def wait_ready(self) -> None:
        """Raises InfrastructureError with what it says, when it cannot own its namespaces."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        if self._process.stdout.readline() != b"ready\n":
            why = self._process.stderr.read().decode(errors="replace").strip()
            raise InfrastructureError(f"namespaces for nodes cannot be made here: {why}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(END_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()


class Switch(Holder):
    """The bridge that joins a cluster's nodes, and the network of their addresses.

    folder  the cluster's files, removed at the end.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(["unshare", "--net", "bash", "-c", SWITCH], {**environment, "FOLDER": str(folder)})
        self.wait_ready()
        try:
            self._network = self._join_this_machine()
        except BaseException:
            self.close()
            raise

    def address(self, number: int) -> str:
        """The address of the node with that number, from 1 on."""
        return f"{self._network}.{number + 1}"

    def join(self, pod: Pod, *, number: int, mac: str) -> None:
        """Connect a pod by an interface eth0. Raises InfrastructureError."""
        run(
            f"ip link add eth0 netns {pod.first} address {mac} type veth peer name port{number} netns {self.pid}\n"
            f"nsenter --net --target {self.pid} ip link set port{number} master bridge up\n"
            f"nsenter --net --target {pod.first} ip -batch - <<END\n"
            f"link set lo up\naddress add {self.address(number)}/24 dev eth0\nlink set eth0 up\nEND\n"
        )

    def _join_this_machine(self) -> str:
        """Connect the bridge to this machine by an interface whose name reserves a network. Returns that."""
        for number in random.sample(range(NETWORKS), NETWORKS):
            name, network = f"kafkacheck{number}", f"198.{18 + number // 256}.{number % 256}"
            link = ["ip", "link", "add", name, "type", "veth", "peer", "name", "host", "netns", str(self.pid)]
            done = subprocess.run(link, capture_output=True, text=True)
            if done.returncode == 0:
                break
        else:
            raise InfrastructureError(
                f"none of {NETWORKS} networks of 198.18.0.0/15 is free for a cluster of plain processes; the last "
                f"try, {' '.join(link)}, ended with: {done.stderr.strip()}"
            )
        run(
            f"nsenter --net --target {self.pid} ip link set host master bridge up\n"
            f"ip address add {network}.1/24 dev {name}\nip link set {name} up\n"
        )
        return network


class Pod(Holder):
    """The namespaces of one node: network, processes, mounts, host name.

    folder  the node's own files. kafka: the files of the release, see `setup.processes`.
    """

    def __init__(
        self, folder: Path, *, host: str, hosts: str, kafka: Path, environment: Mapping[str, str]
    ) -> None:
        for each in ("k/data", "root"):
            (folder / each).mkdir(parents=True)
        (folder / "hosts").write_text(hosts)
        self._environment = dict(environment)
        self._children: list[subprocess.Popen[bytes]] = []
        super().__init__(
            [
                "unshare",
                "--mount",
                "--uts",
                "--ipc",
                "--net",
                "--pid",
                "--fork",
                "--kill-child",
                "bash",
                "-c",
                POD,
            ],
            {**environment, "FOLDER": str(folder), "KAFKA": str(kafka), "NAME": host},
        )
        self.first = 0
        """Process id of its first process."""

    def wait_ready(self) -> None:
        super().wait_ready()
        (first,) = psutil.Process(self.pid).children()
        self.first = first.pid

    def close(self) -> None:
        super().close()
        for each in self._children:
            each.wait(END_LIMIT)

    @property
    def root(self) -> Path:
        """Its file system, as this machine sees it."""
        return Path(f"/proc/{self.first}/root")

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a command in it. The process that is returned waits for the command, and ends as that does."""
        child = subprocess.Popen(
            ["nsenter", "--target", str(self.first), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd",
             *command],
            env={**self._environment, **(environment or {})},
            start_new_session=True,
            **options,
        )  # fmt: skip
        self._children = [each for each in self._children if each.poll() is None] + [child]
        return child

    def channel(self, command: Sequence[str], environment: Mapping[str, str]) -> socket.socket:
        """The standard input and output of a command in it."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.start(command, environment, stdin=theirs, stdout=theirs)
        return ours


def run(script: str) -> None:
    """Run a shell script on this machine. Raises InfrastructureError when one of its commands fails."""
    done = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True)
    if done.returncode:
        raise InfrastructureError(
            f"the network of a cluster could not be made: {done.stderr.strip()}\n{script}"
        )
