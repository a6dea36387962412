"""The agent: a small container that owns a node's network namespace and applies faults in it.

It is driven over its standard input, so that it heals by itself when its master is gone: a SIGKILL of
pytest closes the stream, a frozen pytest misses the heartbeat.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
from pathlib import Path
from typing import Any

from pytest_kafkacheck.errors import InfrastructureError

TTL = 15
"""Seconds without a line after which an agent heals."""

BEAT = 4.0
"""Seconds between heartbeats; three may be lost before the agent gives up on us."""

SCRIPT = Path(__file__).with_name("agent.sh").read_text()


class Agent:
    """Drives one agent container, created here and removed by whoever removes the cluster's containers."""

    def __init__(self, client: Any, *, create: dict[str, Any]) -> None:
        """`create`: arguments of docker's low-level create_container besides command and standard input."""
        api = client.api
        created = api.create_container(
            command=["bash", "-c", SCRIPT],
            environment={"TTL": str(TTL)},
            stdin_open=True,
            detach=False,  # with stdin_open, this makes the stream end with our connection
            **create,
        )
        self.container: str = created["Id"]
        self._stream = api.attach_socket(
            self.container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        self._socket: socket.socket = getattr(self._stream, "_sock", self._stream)
        self._lock = threading.Lock()
        self._frames = b""
        self._lines = b""
        self._number = 0
        self._closed = threading.Event()
        api.start(self.container)
        self._socket.settimeout(20)
        if self._line() != "ready":
            raise InfrastructureError(f"The agent {self.container[:12]} did not start; see `docker logs`.")
        self._beats = threading.Thread(target=self._beat, name="kafkacheck-agent-beat", daemon=True)
        self._beats.start()

    def shell(self, command: str, *, timeout: float) -> tuple[int, str]:
        """Exit status (124 when time was up) and output of a command in the node's network namespace."""
        encoded = base64.b64encode(command.encode()).decode()
        with self._lock:
            self._number += 1
            number = str(self._number)
            try:
                self._socket.settimeout(timeout + 10)
                self._socket.sendall(f"{number} {timeout:.1f} {encoded}\n".encode())
                while True:
                    answer, status, *output = self._line().split(" ")
                    if answer == number:
                        return int(status), base64.b64decode(output[0] if output else "").decode(
                            errors="replace"
                        )
            except OSError as error:
                raise InfrastructureError(
                    f"The agent {self.container[:12]} did not answer {command!r} within {timeout + 10} s: {error!r}"
                ) from error

    def close(self) -> None:
        """End the stream: the agent heals and exits."""
        self._closed.set()
        with self._lock:
            self._stream.close()
            self._socket.close()

    def _beat(self) -> None:
        while not self._closed.wait(BEAT):
            try:
                self.shell("true", timeout=2)
            except (InfrastructureError, ValueError):
                return  # the next real command reports it

    def _line(self) -> str:
        """The next line of output. The stream carries frames: 1 byte which, 3 unused, 4 length, then data."""
        deadline = time.monotonic() + (self._socket.gettimeout() or 20)
        while b"\n" not in self._lines:
            while len(self._frames) < 8 or len(self._frames) < 8 + (
                size := int.from_bytes(self._frames[4:8], "big")
            ):
                if time.monotonic() > deadline:
                    raise TimeoutError("no whole line")
                data = self._socket.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("the agent's stream ended")
                self._frames += data
            size = int.from_bytes(self._frames[4:8], "big")
            self._lines += self._frames[8 : 8 + size]
            self._frames = self._frames[8 + size :]
        line, _, self._lines = self._lines.partition(b"\n")
        return line.decode()
