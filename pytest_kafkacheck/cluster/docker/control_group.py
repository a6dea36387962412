"""Counters of a container's control group, read from this host where the container runs on it.

The engine gives them as well, but on a machine without idle processor time its answer takes seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
