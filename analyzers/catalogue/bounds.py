"""How long a cluster may keep its clients waiting, and an application its inputs, as an experiment states it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Limits in seconds; None states no limit. Raises ValueError for anything but a finite number from 0 on."""

    unavailable: float | None = None
    """The longest time for which a partition that is sent to may acknowledge nothing."""
    recovery: float | None = None
    """The longest time from the last heal to the first acknowledgement of each partition."""
    orphaned: float | None = None
    """The longest time for which a partition may have no owner although its group has live members."""
    standstill: float | None = None
    """The longest time for which an application may write no output of a partition while inputs wait there."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(
                    f"{each.name}: expected seconds, a finite number from 0 on, or None; got {value!r}"
                )

    def in_ns(self, name: str) -> int | None:
        """The limit of this name; None where none is stated."""
        value = getattr(self, name)
        return None if value is None else round(value * 1e9)

    def to_json(self) -> dict[str, float]:
        """The bounds that are stated."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}

    @classmethod
    def from_json(cls, data: Any) -> Bounds:
        """Raises ValueError for anything that `to_json` does not write."""
        if not isinstance(data, Mapping):
            raise ValueError(f"expected an object, got {data!r}")
        names = [each.name for each in fields(cls)]
        if unknown := sorted(str(name) for name in data if name not in names):
            raise ValueError(f"no bound named {', '.join(unknown)}; there are {', '.join(names)}")
        return cls(**data)


NONE = Bounds()
