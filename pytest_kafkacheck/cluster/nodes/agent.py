"""The agent: a shell in a node's network namespace that applies faults there, with a dead man's switch.

A test that injects faults can die at any moment. A cut that outlives its test ruins the next experiment on the
cluster, which may be the user's own (`--kafkacheck-attach`). Jepsen heals in a `finally` block and asks people to
repair the rest; Chaos Mesh leaves it to a daemon on every host. Here nothing is installed on hosts, so the fault
itself depends on its test being alive, in three layers:

1. The agent reads its commands from standard input. When pytest is killed, the kernel, or the engine between them,
   closes the stream; the agent reads end of file, removes all rules, and exits.
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
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from nemesis.effects.nft import RENEW
from nemesis.effects.shaping import HANDLE
from pytest_kafkacheck.errors import InfrastructureError

TTL = 15
"""Seconds without a line after which an agent heals."""

HEARTBEAT = 4.0
"""Seconds between heartbeats: the agent heals when more than three in a row are missing."""

START_LIMIT = 20.0
"""Seconds for an agent to start."""

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


class Channel(Protocol):
    """Standard input and output of a command that runs in a pod, as a socket has them."""

    def settimeout(self, value: float | None, /) -> None: ...

    def sendall(self, data: bytes, /) -> None: ...

    def recv(self, size: int, /) -> bytes:
        """Output, when there is some; nothing at its end."""

    def close(self) -> None:
        """The command reads end of file."""


Open = Callable[[Sequence[str], Mapping[str, str]], Channel]
"""Starts a command, with these variables of the environment, in a pod. Raises OSError."""


class Agent:
    """Drives the shell in one pod. The shell starts with the first command, because most clusters never need one."""

    def __init__(self, start: Open, *, pod: str) -> None:
        """`start`: starts a command in the pod, which must have NET_ADMIN and nft. `pod`: its name, for messages."""
        self._pod = pod
        self._open = start
        self._lock = threading.Lock()
        self._channel: Channel | None = None
        self._lines = b""
        self._number = 0
        self._closed = threading.Event()

    def shell(self, command: str, *, timeout: float) -> tuple[int, str]:
        """Exit status (124 when time was up) and output of a command in the node's network namespace."""
        encoded = base64.b64encode(command.encode()).decode()
        with self._lock:
            try:
                return self._answer(self._channel or self._start(), encoded, timeout)
            except OSError as error:
                # The next command starts a new agent. The old one heals, and the verification of faults notices that.
                self._disconnect()
                raise InfrastructureError(
                    f"The agent in {self._pod} did not answer {command!r} within {timeout + 10} s: {error!r}"
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
            ran = self._channel is not None
            self._disconnect()
            return ran

    def _start(self) -> Channel:
        if self._closed.is_set():
            raise ConnectionResetError("the agent was closed")
        channel = self._channel = self._open(["bash", "--norc", "-c", SCRIPT, NAME], {"TTL": str(TTL)})
        self._lines = b""
        channel.settimeout(START_LIMIT)
        # The agent prints only answers. Output that it printed before the first command could arrive together with
        # the engine's answer to the start, and docker-py would throw it away with its read buffer.
        channel.sendall(f"0 10 {base64.b64encode(b'true').decode()}\n".encode())
        if (answer := self._line(channel, START_LIMIT).strip()) != "0 0":
            raise ConnectionResetError(f"the agent did not start, it answered {answer!r}")
        threading.Thread(
            target=self._send_heartbeats, args=(channel,), name="kafkacheck-agent-heartbeat", daemon=True
        ).start()
        return channel

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel = None

    def _answer(self, channel: Channel, command: str, timeout: float) -> tuple[int, str]:
        """`command`: in base64. Raises OSError."""
        self._number += 1
        number = str(self._number)
        channel.settimeout(timeout + 10)
        channel.sendall(f"{number} {timeout:.1f} {command}\n".encode())
        while True:
            answer, status, *output = self._line(channel, timeout + 10).split(" ")
            if answer == number:
                return int(status), base64.b64decode(output[0] if output else "").decode(errors="replace")

    def _send_heartbeats(self, channel: Channel) -> None:
        """Until the agent at that channel ends. A heartbeat starts no other agent: nobody would end that one."""
        command = base64.b64encode(RENEW.encode()).decode()
        while not self._closed.wait(HEARTBEAT):
            with self._lock:
                if self._channel is not channel:
                    return
                try:
                    self._answer(channel, command, 2)
                except (OSError, ValueError):
                    self._disconnect()
                    return

    def _line(self, channel: Channel, limit: float) -> str:
        """The next line of output, within that many seconds."""
        deadline = time.monotonic() + limit
        while b"\n" not in self._lines:
            if time.monotonic() > deadline:
                raise TimeoutError("no complete line")
            if not (data := channel.recv(1 << 16)):
                raise ConnectionResetError("the agent's stream ended")
            self._lines += data
        line, _, self._lines = self._lines.partition(b"\n")
        return line.decode()
