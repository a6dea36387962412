"""Which nodes served just before an injection. A fault of a process that did not serve is not proved."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Literal

from nemesis.cluster import Cluster
from nemesis.run_clock import RunClock
from nemesis.tasks import Start, Task

log = logging.getLogger(__name__)

WATCHED = 3.0
"""Seconds before the injection in which a node must have served. The watch begins so long before it, or later where
the event has no such time before it."""

INTERVAL = 0.5
"""Seconds between two looks."""

Served = Literal["yes", "no", "unknown"]
"""Unknown: a silent node was not asked for long enough before the injection."""


def not_observed(_: int) -> Served:
    """Where nothing watches."""
    return "unknown"


class ServingWatch:
    """Looks in a task of its own, so that it delays no injection.

    What a look finds after the injection counts only for nodes that serve: the fault cannot have caused that.
    """

    def __init__(self, cluster: Cluster, clock: RunClock, start: Start, name: str) -> None:
        self._cluster, self._clock = cluster, clock
        self._served: dict[int, float] = {}
        self._failed: dict[int, float] = {}
        self._ended: float | None = None
        self._task: Task[None] = start(self._watch, f"nemesis-{name}-serving")

    def end(self) -> None:
        """The injection begins now."""
        if self._ended is None:
            self._ended = self._clock.seconds()

    def close(self) -> None:
        """End it, and wait for the look that was under way."""
        self.end()
        self._task.result()

    def served(self, node: int) -> Served:
        """Whether the node served in the last seconds before the injection. Waits for the look that was under way."""
        self.close()
        assert self._ended is not None
        earliest = self._ended - WATCHED
        if self._served.get(node, earliest - 1) >= earliest:
            return "yes"
        return "no" if self._failed.get(node, earliest - 1) >= earliest else "unknown"

    def _watch(self) -> None:
        with closing(self._cluster.quick()) as view:
            while True:
                asked = self._clock.seconds()
                try:
                    found = view.serving_nodes()
                except Exception as problem:
                    log.info("which nodes serve: %r", problem)
                    found = {}
                self._served |= {node: asked for node, serves in found.items() if serves}
                if self._ended is None:
                    self._failed |= {node: asked for node, serves in found.items() if not serves}
                while not self._is_over and (left := asked + INTERVAL - self._clock.seconds()) > 0:
                    self._clock.pause(min(left, INTERVAL / 10))
                if self._is_over:
                    return

    @property
    def _is_over(self) -> bool:
        return self._ended is not None or self._clock.is_stopped
