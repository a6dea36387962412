"""What some faults need of the host of the Docker engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nemesis.registry import FAULTS

CAPABILITIES: dict[str, str] = {
    "nft": "rules of nftables in a container's network",
    "tbf": "a token bucket (the kernel module sch_tbf) at a container's network interface",
    "netem": "network emulation (the kernel module sch_netem) at a container's network interface",
    "disks": "loop devices, on which nodes get file systems of their own",
    "throttle": "a limit of a control group on its writes to a block device (blkio.throttle, or io.max)",
    "clock": "access to another process's memory (the capability SYS_PTRACE) on x86-64",
    "freezer": "the freezer of control groups",
    "packets": "control groups of version 2 on this host, and a BPF program that sees their packets",
    "cpu": "the controller cpu of control groups on this host",
    "memory": "the controller memory of control groups on this host",
}
"""What each name in `Fault.needs` and `Fault.prefers` means."""


OF_APPLICATIONS = frozenset({"packets", "cpu", "memory"})
"""Those of this host, on which clients and a user's application run, and not of the engine's."""


def faults_that_need(capability: str) -> tuple[str, ...]:
    """Sorted names of the faults that are impossible without it."""
    return tuple(sorted(name for name, fault in FAULTS.items() if capability in fault.needs))


def faults_that_prefer(capability: str) -> tuple[str, ...]:
    """Sorted names of the faults that are carried out in another way without it."""
    return tuple(sorted(name for name, fault in FAULTS.items() if capability in fault.prefers))


def faults_without_needs() -> tuple[str, ...]:
    """Sorted names of the faults that every host can carry out."""
    return tuple(sorted(name for name, fault in FAULTS.items() if not fault.needs | fault.prefers))


def lacking(faults: Iterable[str], able: Mapping[str, str | None]) -> dict[str, str]:
    """The faults that are impossible on a host, each with the reason.

    able  for each capability the reason why the host lacks it, or None where the host has it.
    """
    missing = {}
    for fault in dict.fromkeys(faults):
        for need in sorted(FAULTS[fault].needs):
            if (reason := able.get(need)) is not None:
                missing[fault] = f"it needs {CAPABILITIES[need]}: {reason}"
    return missing
