"""The agent: a shell in a node's network namespace that applies faults there.

It is driven over its standard input, so that it heals by itself when its master is gone: a SIGKILL of
pytest closes the stream, a frozen pytest misses the heartbeat. Each heartbeat renews the lease of our rules, so that
those of an agent which was itself killed lapse too. It is a process in the node's pod and not
the pod itself, so that the network outlives a master.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
from pathlib import Path
from typing import Any

from docker.errors import APIError

from nemesis.effects.lease_table import RENEW
from pytest_kafkacheck.errors import InfrastructureError

TTL = 15
"""Seconds without a line after which an agent heals."""

BEAT = 4.0
"""Seconds between heartbeats; three may be lost before the agent gives up on us."""

HEAL = """
nft list tables inet 2>/dev/null | while read -r _ _ table; do
  case $table in kafkacheck*) nft delete table inet "$table" ;; esac
done
tc qdisc del dev eth0 root 2>/dev/null
"""
"""Removes every rule and every queueing discipline of ours, and nobody else's."""

SCRIPT = f"heal() {{ {HEAL} }}\n{Path(__file__).with_name('agent.sh').read_text()}"


class Agent:
    """Drives the shell in one pod. It starts with the first command: a cluster without faults needs none."""

    def __init__(self, client: Any, *, pod: str) -> None:
        """`pod`: id of the container whose network namespace it works in; it has NET_ADMIN and nft."""
        self.pod = pod
        self._api = client.api
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._stream: Any = None
        self._frames = b""
        self._lines = b""
        self._number = 0
        self._closed = threading.Event()

    def shell(self, command: str, *, timeout: float) -> tuple[int, str]:
        """Exit status (124 when time was up) and output of a command in the node's network namespace."""
        encoded = base64.b64encode(command.encode()).decode()
        with self._lock:
            try:
                way = self._socket or self._start()
                self._number += 1
                number = str(self._number)
                way.settimeout(timeout + 10)
                way.sendall(f"{number} {timeout:.1f} {encoded}\n".encode())
                while True:
                    answer, status, *output = self._line(way).split(" ")
                    if answer == number:
                        return int(status), base64.b64decode(output[0] if output else "").decode(
                            errors="replace"
                        )
            except (OSError, APIError) as error:
                # The next command begins anew. What this one had cut is healed then, and seen to be missing.
                self._disconnect()
                raise InfrastructureError(
                    f"The agent in {self.pod[:12]} did not answer {command!r} within {timeout + 10} s: {error!r}"
                ) from error

    def close(self) -> None:
        """End the stream: the agent heals and exits. It does not start again."""
        self._closed.set()
        with self._lock:
            self._disconnect()

    def _start(self) -> socket.socket:
        if self._closed.is_set():
            raise ConnectionResetError("the agent was closed")
        shell = self._api.exec_create(
            self.pod, ["bash", "-c", SCRIPT], stdin=True, environment={"TTL": str(TTL)}
        )["Id"]
        self._stream = self._api.exec_start(shell, socket=True)
        way: socket.socket = getattr(self._stream, "_sock", self._stream)
        self._socket, self._frames, self._lines = way, b"", b""
        way.settimeout(20)
        # The agent speaks only when it is asked: what it said before could have come in one piece with the engine's
        # answer to the call above, and would be lost with the buffer from which that was read.
        way.sendall(f"0 10 {base64.b64encode(b'true').decode()}\n".encode())
        if (said := self._line(way).strip()) != "0 0":
            raise ConnectionResetError(f"the agent did not start, it said {said!r}")
        threading.Thread(target=self._beat, name="kafkacheck-agent-beat", daemon=True).start()
        return way

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._stream.close()
            self._socket.close()
        self._socket = self._stream = None

    def _beat(self) -> None:
        while not self._closed.wait(BEAT):
            try:
                self.shell(RENEW, timeout=2)
            except (InfrastructureError, ValueError):
                return  # the next real command reports it

    def _line(self, way: socket.socket) -> str:
        """The next line of output. The stream carries frames: 1 byte which, 3 unused, 4 length, then data."""
        deadline = time.monotonic() + (way.gettimeout() or 20)
        while b"\n" not in self._lines:
            while len(self._frames) < 8 or len(self._frames) < 8 + (
                size := int.from_bytes(self._frames[4:8], "big")
            ):
                if time.monotonic() > deadline:
                    raise TimeoutError("no whole line")
                data = way.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("the agent's stream ended")
                self._frames += data
            size = int.from_bytes(self._frames[4:8], "big")
            self._lines += self._frames[8 : 8 + size]
            self._frames = self._frames[8 + size :]
        line, _, self._lines = self._lines.partition(b"\n")
        return line.decode()
