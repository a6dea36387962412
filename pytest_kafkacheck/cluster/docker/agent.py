"""The agent: a shell in a node's network namespace that applies faults there, with a dead man's switch.

A test that injects faults can die at any moment. A cut that outlives its test ruins the next experiment on the
cluster, which may be the user's own (`--kafkacheck-attach`). Jepsen heals in a `finally` block and asks people to
repair the rest; Chaos Mesh leaves it to a daemon on every host. Here nothing is installed on hosts, so the fault
itself depends on its test being alive, in three layers:

1. The agent reads its commands from the exec session's standard input. When pytest is killed, the engine closes the
   stream; the agent reads end of file, removes all rules, and exits.
2. pytest sends a heartbeat every `HEARTBEAT` seconds. When pytest is frozen, or cannot reach the engine, the stream
   stays open but silent. After `TTL` seconds without a line the agent removes all rules, and goes on reading.
3. Each heartbeat also renews the lease of the rules in the kernel (`nemesis.effects.nft`). When the agent
   itself is killed, the lease is not renewed, and after 30 s the rules let all packets pass.

The order of events for a test that is killed during a partition:

    pytest                  agent                        kernel
    "1 10.0 <nft add …>" →  runs it                  →   packets are dropped
    heartbeat            →  renews the lease         →   the rules last 30 more seconds
    SIGKILL                 reads end of file, heals →   rules are gone
    -                       (or the agent is killed) →   the lease runs out, packets pass

What is hard: a command's answer may be lost together with the connection. Then the command may have run or not, so
`shell` raises, the next command starts a new agent, and faults verify their effect instead of trusting the answer.

The agent is a process in the node's pod and not the pod's main process, so that the network outlives the session.
"""

from __future__ import annotations

import base64
import socket
import threading
import time
from pathlib import Path
from typing import Any

from docker.errors import APIError

from nemesis.effects.nft import RENEW
from nemesis.effects.shaping import HANDLE
from pytest_kafkacheck.errors import InfrastructureError

TTL = 15
"""Seconds without a line after which an agent heals."""

HEARTBEAT = 4.0
"""Seconds between heartbeats: the agent heals when more than three in a row are missing."""

HEAL = f"""
nft list tables inet 2>/dev/null | while read -r _ _ table; do
  case $table in kafkacheck*) nft delete table inet "$table" ;; esac
done
if tc qdisc show dev eth0 2>/dev/null | grep -q ' {HANDLE}: root'; then tc qdisc del dev eth0 root; fi
"""
"""Shell command that removes all rules and queueing disciplines that kafkacheck made, and no others."""

NAME = "kafkacheck-agent"
"""The last argument of an agent's process, by which other sessions find it."""

END_OTHERS = f"""
agents() {{
  for folder in /proc/[0-9]*; do
    [ "$(tail -z -n 1 "$folder/cmdline" 2>/dev/null | tr -d '\\0')" = {NAME} ] && echo "${{folder#/proc/}}"
  done
}}
while found=$(agents) && [ -n "$found" ]; do
  kill -TERM $found 2>/dev/null
  sleep 0.05
done
"""
"""Shell command that ends all agents in a pod. It returns when they have healed and are gone."""

SCRIPT = f"heal() {{ {HEAL} }}\n{Path(__file__).with_name('agent.sh').read_text()}"


class Agent:
    """Drives the shell in one pod. The shell starts with the first command, because most clusters never need one."""

    def __init__(self, client: Any, *, pod: str) -> None:
        """`pod`: id of the container whose network namespace is changed; it must have NET_ADMIN and nft."""
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
                connection = self._socket or self._start()
                self._number += 1
                number = str(self._number)
                connection.settimeout(timeout + 10)
                connection.sendall(f"{number} {timeout:.1f} {encoded}\n".encode())
                while True:
                    answer, status, *output = self._line(connection).split(" ")
                    if answer == number:
                        return int(status), base64.b64decode(output[0] if output else "").decode(
                            errors="replace"
                        )
            except (OSError, APIError) as error:
                # The next command starts a new agent. The old one heals, and the verification of faults notices that.
                self._disconnect()
                raise InfrastructureError(
                    f"The agent in {self.pod[:12]} did not answer {command!r} within {timeout + 10} s: {error!r}"
                ) from error

    def close(self) -> None:
        """Close the stream: the agent heals and exits. Later commands raise InfrastructureError."""
        self._closed.set()
        with self._lock:
            self._disconnect()

    def end(self) -> bool:
        """End the shell, if it runs; the next command starts another one. Returns whether it ran.

        It may still heal when this returns: `END_OTHERS` waits for that.
        """
        with self._lock:
            ran = self._socket is not None
            self._disconnect()
            return ran

    def _start(self) -> socket.socket:
        if self._closed.is_set():
            raise ConnectionResetError("the agent was closed")
        shell = self._api.exec_create(
            self.pod, ["bash", "-c", SCRIPT, NAME], stdin=True, environment={"TTL": str(TTL)}
        )["Id"]
        self._stream = self._api.exec_start(shell, socket=True)
        connection: socket.socket = getattr(self._stream, "_sock", self._stream)
        self._socket, self._frames, self._lines = connection, b"", b""
        connection.settimeout(20)
        # The agent prints only answers. Output that it printed before the first command could arrive together with
        # the engine's answer to the call above, and docker-py would throw it away with its read buffer.
        connection.sendall(f"0 10 {base64.b64encode(b'true').decode()}\n".encode())
        if (answer := self._line(connection).strip()) != "0 0":
            raise ConnectionResetError(f"the agent did not start, it answered {answer!r}")
        threading.Thread(target=self._send_heartbeats, name="kafkacheck-agent-heartbeat", daemon=True).start()
        return connection

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._stream.close()
            self._socket.close()
        self._socket = self._stream = None

    def _send_heartbeats(self) -> None:
        while not self._closed.wait(HEARTBEAT):
            try:
                self.shell(RENEW, timeout=2)
            except (InfrastructureError, ValueError):
                return  # the next command reports the failure

    def _line(self, connection: socket.socket) -> str:
        """The next line of output. The stream consists of frames: 1 byte stream number, 3 unused, 4 length, data."""
        deadline = time.monotonic() + (connection.gettimeout() or 20)
        while b"\n" not in self._lines:
            while len(self._frames) < 8 or len(self._frames) < 8 + (
                size := int.from_bytes(self._frames[4:8], "big")
            ):
                if time.monotonic() > deadline:
                    raise TimeoutError("no complete line")
                data = connection.recv(1 << 16)
                if not data:
                    raise ConnectionResetError("the agent's stream ended")
                self._frames += data
            size = int.from_bytes(self._frames[4:8], "big")
            self._lines += self._frames[8 : 8 + size]
            self._frames = self._frames[8 + size :]
        line, _, self._lines = self._lines.partition(b"\n")
        return line.decode()
