"""Counters of a container's control group, read from this host where the container runs on it.

The engine gives them as well, but on a machine without idle processor time its answer takes seconds.
"""

from __future__ import annotations

import re
from pathlib import Path

PROCESSES = Path("/proc")
GROUPS = Path("/sys/fs/cgroup")


def throttled_periods(
    pid: int, container: str, *, processes: Path = PROCESSES, groups: Path = GROUPS
) -> int | None:
    """How often the kernel has throttled the container; None where its process is not one of this host.

    pid        of the container's first process, as the engine knows it.
    container  its full id, which is part of its control group's name.
    """
    try:
        lines = (processes / str(pid) / "cgroup").read_text().splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if container not in path or (controllers and "cpu" not in controllers.split(",")):
                continue
            tree = groups / "cpu" if controllers else groups
            counters = (tree / path.lstrip("/") / "cpu.stat").read_text()
            if found := re.search(r"^nr_throttled (\d+)$", counters, re.M):
                return int(found[1])
    except (OSError, ValueError):
        return None  # another host, or a process that has just ended
    return None
