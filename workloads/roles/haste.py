"""When probes sample more often: for a while after a broker reported a change, or stopped to answer.

An unclean election may follow within half a second after an ISR has shrunk, and the ISR explains the records that it
costs. At 5 Hz there is often no sample between.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

FAST = 0.05
"""Seconds between samples then."""

LASTING = 3.0
"""Seconds after the last change."""

CHANGES = ("leader", "leader_epoch", "isr")


class Haste:
    """All samplers of a kind share one, and tell it what they got. Safe to use from several threads."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._until = 0.0
        self._last: dict[int | None, Any] = {}
        """By node, None for ZooKeeper: what it reported, None where it did not answer."""

    @property
    def interval(self) -> float:
        return min(self._interval, FAST) if time.monotonic() < self._until else self._interval

    def tell(self, node: int | None, rows: Iterable[Mapping[str, Any]] | None) -> None:
        """rows: of a sample; None: the broker did not answer."""
        found = None if rows is None else [tuple(str(row.get(name)) for name in CHANGES) for row in rows]
        if self._last.setdefault(node, found) != found:
            self._last[node] = found
            self._until = time.monotonic() + LASTING
