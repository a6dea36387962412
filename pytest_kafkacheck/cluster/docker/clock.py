"""The wall clock that one broker sees, set wrong while the clocks of the host and of all other nodes stay right.

A container has no wall clock of its own. But a process does not ask the kernel for the time: it calls code that the
kernel maps into its memory, the vDSO. A short-lived container that shares the process ids of the broker's container
redirects that code. The page docs/architecture.md explains the design; clock.pl and clock.S are the implementation.

What time a process has is also read from outside, in `ahead`.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from docker.errors import APIError, NotFound

from nemesis.cluster import Ahead
from nemesis.tasks import run_with_deadline
from pytest_kafkacheck.cluster.docker.images import agent_image
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from pytest_kafkacheck.errors import InfrastructureError, UsageError

SCRIPT = Path(__file__).with_name("clock.pl").read_text()

LIMIT = 20.0
"""Seconds for setting or reading one clock, including the removal of the container."""

MAX_OFFSET = 1e9
"""Seconds, about 31 years, by which a clock may be off."""

MAX_DRIFT = 1e6
"""Parts per million. A clock that gains this much runs at twice the speed; one that loses it stands still."""

UNSUPPORTED, NO_PROCESS = 3, 4
"""Exit status of clock.pl: the machine does not allow it; there is no process that can be changed now."""


class Reading(NamedTuple):
    """The state of a clock, read from the memory of its process.

    installed  whether the process's clock functions are redirected; they stay so when the skew is cleared.
    offset     seconds, as set.
    ppm        drift in parts per million, as set.
    ahead      seconds by which the clock is ahead of the real one now, drift included.
    held       seconds for which the process was stopped for this call.
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
    """The wall clock of one node's JVM. CLOCK_MONOTONIC, and with it every time-out in Java, stays right.

    A restart of the process makes the clock right again. While the node is frozen, only a clock that was set before
    can be changed. Works on x86-64 only.
    Setting a clock back, by `clear` too, can have effects that last: Kafka computes from the wall clock when it may
    connect to a peer again. A peer that it could not reach while its clock was an hour ahead is tried again an hour
    later. So restart a node that does not serve soon after its clock was cleared.
    Every method raises OSError when the node's process is frozen, has ended or has not started yet, and
    InfrastructureError when the machine does not allow it or something went wrong.
    """

    def __init__(
        self,
        client: Any,
        node: ClockOwner,
        *,
        owner: Mapping[str, str],
        before_set: Callable[[], object] = lambda: None,
    ) -> None:
        """`owner`: labels that say who owns the containers, see ``Plan.owner``. `before_set`: called before each
        change, so that a session that dies afterwards leaves a trace of it."""
        self._api = client.api
        self._node = node
        self._owner = dict(owner)
        self._before_set = before_set
        self._lock = threading.Lock()

    def set(self, offset: float, ppm: float = 0.0) -> Reading:
        """Show the real time + `offset` seconds; from now on gain `ppm` microseconds a second.

        Replaces an earlier setting. Raises UsageError beyond `MAX_OFFSET` or `MAX_DRIFT` in either direction.
        """
        for name, value, limit in (("offset", offset, MAX_OFFSET), ("ppm", ppm, MAX_DRIFT)):
            if not (math.isfinite(value) and abs(value) <= limit):
                raise UsageError(f"{name}={value!r}: a clock's {name} is from {-limit:.0f} to {limit:.0f}")
        self._before_set()
        return self._run("set", str(round(offset * 1e9)), f"{ppm:.3f}")

    def get(self) -> tuple[float, float]:
        """Offset in seconds and drift in parts per million, as set; zeros after a restart of the process."""
        reading = self.read()
        return reading.offset, reading.ppm

    def read(self) -> Reading:
        """The clock's state in the memory of the process."""
        return self._run("get")

    def clear(self) -> Reading:
        """Show the real time again."""
        return self._run("clear")

    def _run(self, *arguments: str) -> Reading:
        answers: list[tuple[int, str, str]] = []
        what = f"the clock of {self._node.host} ({' '.join(arguments)})"

        def run() -> None:
            answers.append(self._run_container(arguments))

        try:
            with self._lock:
                run_with_deadline(LIMIT, run, name=what)
        except APIError as error:
            raise OSError(
                f"The engine could not start the container that changes {what}: {error.explanation}. "
                "Its process must run."
            ) from error
        except TimeoutError as error:
            raise InfrastructureError(
                f"Setting or reading {what} did not finish: {error}. Is the engine busy?"
            ) from error
        status, output, errors = answers[0]
        if status == NO_PROCESS:
            raise OSError(f"{what}: {errors}")
        if status == UNSUPPORTED:
            raise InfrastructureError(f"{what}: {errors}. Leave this fault out on this machine.")
        try:
            found = json.loads(output) if status == 0 else None
        except ValueError:
            found = None
        if found is None:
            raise InfrastructureError(f"{what}: status {status}, {(errors or output).strip()!r}")
        return Reading(
            installed=found["installed"],
            offset=found["offset_ns"] / 1e9,
            ppm=found["ppm"],
            ahead=found["ahead_ns"] / 1e9,
            held=found["held_us"] / 1e6,
        )

    def _run_container(self, arguments: tuple[str, ...]) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of clock.pl. Its container is removed in every case."""
        container = self._api.create_container(
            image=agent_image(),
            command=["perl", "-e", SCRIPT, *arguments],
            labels=self._owner,
            network_disabled=True,
            host_config=self._api.create_host_config(
                network_mode="none",
                pid_mode=f"container:{self._node.container}",
                cap_drop=["ALL"],
                cap_add=["SYS_PTRACE"],
                security_opt=["no-new-privileges"],
                log_config={"Type": "json-file"},
            ),
        )["Id"]
        try:
            self._api.start(container)
            status = int(self._api.wait(container, timeout=LIMIT - 4)["StatusCode"])
            output, errors = (
                self._api.logs(container, stdout=out, stderr=not out).decode(errors="replace").strip()
                for out in (True, False)
            )
            return status, output, errors
        finally:
            with suppress(NotFound):
                self._api.remove_container(container, force=True, v=True)


# A Java process states its time in the first line of the thread dump that SIGQUIT makes it print. That serves for
# nodes that append no records for clients: separate controllers, and brokers that do not learn of a new topic,
# because they are cut off from the controller. A dump is about 100 KB of log, so brokers are asked for an append time
# first (`kafka.append_time`).

HEAD = re.compile(rb"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\nFull thread dump ", re.MULTILINE)

DUMP_LIMIT = 5.0
"""Seconds for the process to print the dump."""

RESOLUTION = 1.0
"""Seconds: the dump has whole seconds, rounded down."""


def ahead(api: Any, container: str, *, name: str) -> Ahead:
    """How far the clock of the process is ahead of this host's. Raises OSError when it prints no dump in time."""
    earlier = len(_heads(api, container))
    asked, moment = time.time(), time.monotonic()
    api.kill(container, signal="SIGQUIT")
    found: list[bytes] = []

    def missing() -> str | None:
        found[:] = _heads(api, container)[earlier:]
        return None if found else "it printed no thread dump"

    try:
        wait_until(missing, f"the time of {name}", limit=DUMP_LIMIT)
    except InfrastructureError as error:
        raise OSError(str(error)) from error
    answered = time.time()
    stated = stated_time(found[0])
    return Ahead(
        at=moment, least=stated - answered, most=stated + RESOLUTION - asked, source="head of a thread dump"
    )


def stated_time(head: bytes) -> float:
    """Seconds since 1970. Containers of kafkacheck have no time zone of their own, so the dump is in UTC."""
    return datetime.strptime(head.decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _heads(api: Any, container: str) -> list[bytes]:
    return HEAD.findall(bytes(api.logs(container, stdout=True, stderr=True, timestamps=False)))
