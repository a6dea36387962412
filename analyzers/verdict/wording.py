"""Numbers, times, clients and what they wrote, as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analyzers.history.surroundings import Unit

PER_SECOND: dict[Unit, int] = {"s": 1, "ms": 10**3, "us": 10**6}

MOST_DIGITS = 3
"""Decimals of a time in s; other units need none."""

SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def count(number: int, noun: str) -> str:
    """``1 send``, ``2,000 sends``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ordinal(number: int) -> str:
    """``1st``, ``7,116th``."""
    suffix = "th" if number % 100 in (11, 12, 13) else SUFFIXES.get(number % 10, "th")
    return f"{number:,}{suffix}"


def seconds(time: float) -> str:
    """A moment since the run's first operation, or a length of time: ``4.8 s``, and ``3 ms`` below a tenth of a
    second, which one decimal would show as nothing."""
    if 0 < abs(time) < 0.1:
        return f"{time * 1000:.0f} ms" if abs(time) >= 0.001 else "below 1 ms"
    return f"{time:,.1f} s"


@dataclass(frozen=True)
class TimeScale:
    """How the times of one text are written: in the unit of the history, with as many decimals as tell them apart."""

    unit: Unit = "s"
    digits: int = 1

    def text(self, time: float) -> str:
        """time: s. ``4.8 s``, ``4.812 s``, ``4,812 ms``."""
        return f"{time * PER_SECOND[self.unit]:,.{self.digits}f} {self.unit}"

    def rounded(self, time: float) -> float:
        """s, as it is shown."""
        return round(time * PER_SECOND[self.unit], self.digits) / PER_SECOND[self.unit]


def scale_of(times: Iterable[float | None], unit: Unit = "s") -> TimeScale:
    """For these times (s): one decimal of a second, or more where they all lie within a second and two of them would
    look equal. In a longer story, their order tells apart what happened within a tenth of a second."""
    if unit != "s":
        return TimeScale(unit, 0)
    known = {time for time in times if time is not None}
    if not known or max(known) - min(known) >= 1:
        return TimeScale(unit)
    distinct = len({round(time, MOST_DIGITS) for time in known})
    digits = range(1, MOST_DIGITS + 1)
    return TimeScale(
        unit, next(each for each in digits if len({round(time, each) for time in known}) == distinct)
    )


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
    # An experiment is made without PyArrow, and imports this file for its promises.
    from workloads.history.schema import VALUE_BITS

    sequence = value & ((1 << VALUE_BITS) - 1)
    return f"{client_name(value >> VALUE_BITS, clients)}'s {ordinal(sequence + 1)} write"
