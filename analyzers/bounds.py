"""How long the cluster may keep its clients waiting, as an experiment states it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

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
        for value, check in (
            (self.unavailable, unavailable),
            (self.recovery, slow_recovery),
            (self.orphaned, orphaned_partition),
        ):
            if value is not None:
                yield check(round(value * 1e9))
