"""How clients and what they wrote are named to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from analyzers.verdict.wording import ordinal
from workloads.history.schema import VALUE_BITS


def client_names(roles: Mapping[int, str], instances: Mapping[int, int] | None = None) -> dict[int, str]:
    """By process number, from its role: each role is numbered from 0, in the order of the process numbers.

    instances  of a user's application, by process number. They have the names by which schedules target them, such as
               ``app:0``; so has the process that replaces one.
    """
    seen: Counter[str] = Counter()
    names = {}
    for process, role in sorted(roles.items()):
        if process in (instances or {}):
            names[process] = f"{role}:{(instances or {})[process]}"
            continue
        names[process] = f"{role} {seen[role]}"
        seen[role] += 1
    return names


def client_name(process: int, clients: Mapping[int, str]) -> str:
    """``producer 0``, or ``process 4`` for a process of unknown role."""
    return clients.get(process, f"process {process}")


def write_name(value: int, clients: Mapping[int, str]) -> str:
    """``producer 0's 7,116th write``."""
    sequence = value & ((1 << VALUE_BITS) - 1)
    return f"{client_name(value >> VALUE_BITS, clients)}'s {ordinal(sequence + 1)} write"
