"""Discrete events: actors take turns by a clock that only they move."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from typing import Any

MS = 1_000_000
"""ns."""

Steps = Generator[int, None, Any]
"""Yields the ns until its next turn."""


class Actor:
    """Steps with their turns. on_end: called when the steps are over, but not when they are killed."""

    def __init__(self, steps: Steps, on_end: Callable[[], None] | None) -> None:
        self.steps, self.on_end = steps, on_end
        self.is_alive, self.paused_until = True, 0

    def kill(self) -> None:
        self.is_alive = False
        self.steps.close()


class Scheduler:
    def __init__(self) -> None:
        self.now = 1
        """ns."""
        self._queue: list[tuple[int, int, Actor]] = []
        self._turns = 0

    def start(self, steps: Steps, on_end: Callable[[], None] | None = None) -> Actor:
        actor = Actor(steps, on_end)
        self._push(actor, self.now)
        return actor

    def run_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            at, _, actor = heapq.heappop(self._queue)
            self.now = max(self.now, at)
            if not actor.is_alive:
                continue
            if actor.paused_until > self.now:
                self._push(actor, actor.paused_until)
                continue
            try:
                delay = next(actor.steps)
            except StopIteration:
                actor.is_alive = False
                if actor.on_end is not None:
                    actor.on_end()
            else:
                self._push(actor, self.now + delay)

    def _push(self, actor: Actor, at: int) -> None:
        # Actors whose turns fall together take them in the order in which they asked for them.
        self._turns += 1
        heapq.heappush(self._queue, (at, self._turns, actor))
