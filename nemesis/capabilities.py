"""What the host of the engine must be able to do for some of the faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nemesis.faults import FAULTS

CAPABILITIES: dict[str, str] = {
    "nft": "rules of nftables in a container's network",
    "tbf": "a token bucket (the kernel module sch_tbf) at a container's network interface",
    "netem": "network emulation (the kernel module sch_netem) at a container's network interface",
    "disks": "loop devices, on which nodes get file systems of their own",
    "clock": "access to another process's memory (the capability SYS_PTRACE) on x86-64",
}
"""What each means."""


def faults_that_need(capability: str) -> tuple[str, ...]:
    """Names of faults, sorted."""
    return tuple(sorted(name for name, fault in FAULTS.items() if capability in fault.needs))


def lacking(faults: Iterable[str], able: Mapping[str, str | None]) -> dict[str, str]:
    """Which of the faults cannot be had, each with its reason.

    able  by capability why it is missing, None where it is there.
    """
    found = {}
    for fault in dict.fromkeys(faults):
        for need in sorted(FAULTS[fault].needs):
            if (why := able.get(need)) is not None:
                found[fault] = f"it needs {CAPABILITIES[need]}: {why}"
    return found
