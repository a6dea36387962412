"""The daemons of this user, also those of another release."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from pytest_kafkacheck.daemon.address import folder

END_LIMIT = 15.0
"""Seconds for a daemon to clean up before it is killed."""


@dataclass(frozen=True)
class Daemon:
    """A daemon that runs. memory_mb: MiB, resident, with its JVM."""

    pid: int
    memory_mb: int
    socket: Path


def found() -> list[Daemon]:
    daemons = []
    for path in sorted(folder().glob("*.lock")):
        with path.open() as lock, suppress(psutil.NoSuchProcess, ValueError):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                process = psutil.Process(int(lock.read()))
                memory = sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))
                daemons.append(Daemon(process.pid, memory >> 20, path.with_suffix(".socket")))
    return daemons


def end(daemon: Daemon) -> None:
    """As SIGTERM ends it; kill it and its JVM if that takes too long."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(daemon.pid)
        processes = [process, *process.children(recursive=True)]
        process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=END_LIMIT)
        for each in alive:
            each.kill()
