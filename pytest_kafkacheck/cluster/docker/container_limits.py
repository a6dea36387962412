"""Limits of a container's processor time and memory, which the engine sets while it runs."""

from __future__ import annotations

from typing import Any

from docker.errors import APIError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker.control_group import throttled_periods

CPU_PERIOD = 100_000
"""Microseconds: the period in which the kernel accounts for a container's CPU quota."""

SWAP = 1 << 20
"""Bytes that may be swapped out. Where the limit with swap is the same as that without, version 1 of control groups
counts at neither of them how often it was reached (seen with Linux 6.18)."""

ENDED_LIMIT = 10.0
"""Seconds for the engine to learn that a container has ended, of which it changes the limits, too."""


def limit_cpu(api: Any, container: str, cores: float | None) -> None:
    quota = -1 if cores is None else max(1000, round(cores * CPU_PERIOD))
    api.update_container(container, cpu_period=CPU_PERIOD, cpu_quota=quota)


def cpu_limit(api: Any, container: str) -> float | None:
    """Cores; None for no limit."""
    quota = int(api.inspect_container(container)["HostConfig"]["CpuQuota"] or -1)
    return None if quota <= 0 else quota / CPU_PERIOD


def throttled(api: Any, container: str) -> int:
    """How often the kernel has throttled it since its start."""
    # A command in the container would be held back with the process, for seconds.
    found = api.inspect_container(container)
    if (here := throttled_periods(int(found["State"]["Pid"]), found["Id"])) is not None:
        return here
    stats = api.stats(container, stream=False, one_shot=True)["cpu_stats"]
    return int(stats["throttling_data"]["throttled_periods"])


def limit_memory(api: Any, container: str, size: int | None, *, name: str) -> None:
    """Bytes; None for no limit. Raises OSError where the engine refuses."""
    # The engine has no value for "no limit" here, so the limit becomes all memory of its host.
    size = size or int(api.info()["MemTotal"])
    # The kernel may kill the process at its limit while that is being changed.
    patiently = Retrying(
        retry=retry_if_exception(_has_just_ended),
        stop=stop_after_delay(ENDED_LIMIT),
        wait=wait_fixed(0.1),
        reraise=True,
    )
    try:
        patiently(api.update_container, container, mem_limit=size, memswap_limit=size + SWAP)
    except APIError as error:
        raise OSError(f"{name} could not be limited to {size} bytes: {error.explanation}") from error


def memory_limit(api: Any, container: str) -> int | None:
    """Bytes; None for no limit."""
    size = int(api.inspect_container(container)["HostConfig"]["Memory"])
    return size if 0 < size < int(api.info()["MemTotal"]) else None


def _has_just_ended(error: BaseException) -> bool:
    return isinstance(error, APIError) and "container not running" in (error.explanation or "")
