"""The wall clock that one broker sees, made wrong while the machine's and all others' stay right.

A container cannot be given a wall clock of its own. But a process does not ask the kernel for the time: it calls
code that the kernel has put into its memory, the vDSO. A container that lives for this one change, beside the
broker's and with its process ids, leads that code astray: see clock.pl and clock.S.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from docker.errors import APIError, NotFound

from pytest_kafkacheck.cluster.docker.deadline import run_with_deadline
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.errors import InfrastructureError, UsageError

SCRIPT = Path(__file__).with_name("clock.pl").read_text()

LIMIT = 20.0
"""Seconds for one change or look, removal of the container included."""

MOST = 1e9
"""Seconds, about 31 years, by which a clock may be off."""

FASTEST = 1e6
"""Parts per million: a clock that gains them runs twice as fast, one that loses them stands still."""

UNABLE, AWAY = 3, 4
"""Exit status of clock.pl: the machine cannot do it; there is no process that can be changed now."""


class Reading(NamedTuple):
    """installed  whether the process's clock functions are led astray; they stay so when the skew is cleared.
    offset     seconds, as set, and
    ppm        drift in parts per million, as set.
    ahead      seconds by which the clock is ahead of the real one now, drift included.
    held       seconds for which the process was held for this.
    """

    installed: bool
    offset: float
    ppm: float
    ahead: float
    held: float


class ClockOwner(Protocol):
    """What a clock needs of its node."""

    @property
    def host(self) -> str:
        """Its name, for messages."""
        ...

    @property
    def container(self) -> str:
        """Id of the container of its process; an upgrade replaces it."""
        ...


class VirtualClock:
    """The wall clock of one node's JVM. CLOCK_MONOTONIC, and so every timeout in Java, stays right.

    A start of the process makes the clock right again. While the node is frozen, only what was installed before can
    be changed. Only on x86-64.
    A clock that is set back, be it by `clear`, can cost more than it shows: by the wall clock Kafka reckons when it
    may try to connect again. A peer that it did not reach while it was an hour ahead it tries again in an hour. So
    whoever clears a clock should start the node anew if it does not serve soon.
    Every method raises OSError when the node's process is frozen, has ended or has not come up, and
    InfrastructureError when the machine cannot do it or something went wrong.
    """

    def __init__(self, client: Any, node: ClockOwner, *, owner: Mapping[str, str]) -> None:
        """`owner`: labels that say whose the containers are, see ``Plan.owner``."""
        self._api = client.api
        self._node = node
        self._owner = dict(owner)
        self._lock = threading.Lock()

    def set(self, offset: float, ppm: float = 0.0) -> Reading:
        """Show the real time + `offset` seconds; from now on gain `ppm` microseconds a second.

        It replaces what was set before. Raises UsageError for more than `MOST` or `FASTEST` in either direction.
        """
        for name, value, most in (("offset", offset, MOST), ("ppm", ppm, FASTEST)):
            if not (math.isfinite(value) and abs(value) <= most):
                raise UsageError(f"{name}={value!r}: a clock's {name} is from {-most:.0f} to {most:.0f}")
        return self._run("set", str(round(offset * 1e9)), f"{ppm:.3f}")

    def get(self) -> tuple[float, float]:
        """Offset in seconds and drift in parts per million, as set; zeros after a new start of the process."""
        found = self.read()
        return found.offset, found.ppm

    def read(self) -> Reading:
        """What is found in the memory of the process."""
        return self._run("get")

    def clear(self) -> Reading:
        """Show the real time again."""
        return self._run("clear")

    def _run(self, *arguments: str) -> Reading:
        answers: list[tuple[int, str, str]] = []
        what = f"the clock of {self._node.host} ({' '.join(arguments)})"

        def run() -> None:
            answers.append(self._beside(arguments))

        try:
            with self._lock:
                run_with_deadline(LIMIT, run, name=what)
        except APIError as error:
            raise OSError(
                f"The engine could not start the container that changes {what}: {error.explanation}. "
                "Its process must run."
            ) from error
        except TimeoutError as error:
            raise InfrastructureError(f"Nothing came of {what}: {error}. Is the engine busy?") from error
        status, output, said = answers[0]
        if status == AWAY:
            raise OSError(f"{what}: {said}")
        if status == UNABLE:
            raise InfrastructureError(f"{what}: {said}. Leave this fault out on this machine.")
        try:
            found = json.loads(output) if status == 0 else None
        except ValueError:
            found = None
        if found is None:
            raise InfrastructureError(f"{what}: status {status}, {(said or output).strip()!r}")
        return Reading(
            installed=found["installed"],
            offset=found["offset_ns"] / 1e9,
            ppm=found["ppm"],
            ahead=found["ahead_ns"] / 1e9,
            held=found["held_us"] / 1e6,
        )

    def _beside(self, arguments: tuple[str, ...]) -> tuple[int, str, str]:
        """Exit status and what clock.pl printed, out and err. Its container is gone when this returns or raises."""
        container = self._api.create_container(
            image=agent_image(),
            command=["perl", "-e", SCRIPT, *arguments],
            labels=self._owner,
            network_disabled=True,
            host_config=self._api.create_host_config(
                network_mode="none",
                pid_mode=f"container:{self._node.container}",
                cap_drop=["ALL"],
                cap_add=["SYS_PTRACE", "DAC_OVERRIDE"],
                log_config={"Type": "json-file"},
            ),
        )["Id"]
        try:
            self._api.start(container)
            status = int(self._api.wait(container, timeout=LIMIT - 4)["StatusCode"])
            output, said = (
                self._api.logs(container, stdout=out, stderr=not out).decode(errors="replace").strip()
                for out in (True, False)
            )
            return status, output, said
        finally:
            with suppress(NotFound):
                self._api.remove_container(container, force=True, v=True)
