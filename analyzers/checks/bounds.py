"""How long the cluster may keep its clients waiting, as an experiment states it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from analyzers.checks.availability import slow_recovery, unavailable
from analyzers.checks.check import Check
from analyzers.checks.groups import orphaned_partition


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Seconds; None promises nothing. Raises ValueError for anything but a finite number from 0 on."""

    unavailable: float | None = None
    """A partition that is sent to acknowledges something at least so often."""
    recovery: float | None = None
    """After the last heal, each partition acknowledges within that time."""
    orphaned: float | None = None
    """A partition of a group with members alive is without an owner for no longer."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(
                    f"{each.name}: expected seconds, a finite number from 0 on, or None; got {value!r}"
                )

    def checks(self) -> Iterator[Check]:
        """One for each bound that is stated."""
        for name, check in CHECKS.items():
            if (value := getattr(self, name)) is not None:
                yield check(_ns(value))

    def to_json(self) -> dict[str, float]:
        """The bounds that are stated."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}

    @classmethod
    def from_json(cls, data: Any) -> Bounds:
        """Raises ValueError for anything that `to_json` does not write."""
        if not isinstance(data, Mapping):
            raise ValueError(f"expected an object, got {data!r}")
        names = [each.name for each in fields(cls)]
        if strangers := sorted(str(name) for name in data if name not in names):
            raise ValueError(f"no bound named {', '.join(strangers)}; there are {', '.join(names)}")
        return cls(**data)


NONE = Bounds()

CHECKS: Mapping[str, Callable[[int | str], Check]] = {
    "unavailable": unavailable,
    "recovery": slow_recovery,
    "orphaned": orphaned_partition,
}
"""By bound, what is found where it is not kept."""


def checks(bounds: Bounds | Mapping[str, Bounds]) -> Iterator[Check]:
    """One for each bound that any run states. With a mapping each run, by id, is held to its own, one that is not in
    it to none: the runs are judged together all the same.
    """
    if isinstance(bounds, Bounds):
        yield from bounds.checks()
        return
    for name, check in CHECKS.items():
        runs: dict[float, list[str]] = {}
        for run, stated in sorted(bounds.items()):
            if (value := getattr(stated, name)) is not None:
                runs.setdefault(value, []).append(run)
        if runs:
            cases = (
                f"when run in ({', '.join(map(_quoted, some))}) then {_ns(value)}"
                for value, some in sorted(runs.items())
            )
            yield check(f"case {' '.join(cases)} end")


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _quoted(text: str) -> str:
    """As a literal of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
