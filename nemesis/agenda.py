"""The agenda of a run: actions that are due at a time, and events that wait for a trigger."""

from __future__ import annotations

import heapq
import logging
import threading
from collections.abc import Callable
from enum import IntEnum

from nemesis.event import Event
from nemesis.triggers import TRIGGER_LIMIT, HasCome

log = logging.getLogger(__name__)

INTERVAL = 0.1
"""Seconds between two evaluations of triggers."""


class Action(IntEnum):
    """In the order in which actions are taken that are due at the same time."""

    HEAL = 0
    REPEAT = 1
    INJECT = 2


class Agenda:
    """Events are named by their position in the schedule.

    clock  monotonic seconds.
    stop   ends every wait when it is set.
    """

    def __init__(self, clock: Callable[[], float], stop: threading.Event) -> None:
        self._clock = clock
        self._stop = stop
        self._start = clock()
        self._due: list[tuple[float, Action, int]] = []
        self._waiting: dict[int, tuple[Event, HasCome]] = {}
        self._lock = threading.Lock()

    def add(self, event: Event, position: int, has_come: HasCome | None) -> None:
        """The injection of an event: at its time, or after its trigger."""
        if has_come is None:
            self.schedule(self._start + event.at, Action.INJECT, position)
        else:
            self._waiting[position] = event, has_come

    def schedule(self, time: float, action: Action, position: int) -> None:
        heapq.heappush(self._due, (time, action, position))

    def clear(self) -> None:
        self._waiting.clear()
        self._due.clear()

    def __bool__(self) -> bool:
        return bool(self._due or self._waiting)

    def expired(self) -> list[int]:
        """Events that have waited too long for their trigger. They wait no longer."""
        self._evaluate_triggers()
        if self._clock() - self._start <= TRIGGER_LIMIT:
            return []
        positions = list(self._waiting)
        for position in positions:
            del self._waiting[position]
        return positions

    def next(self) -> tuple[Action, int] | None:
        """Wait for the next action that is due. None after a short wait where events wait for triggers, or at a
        stop.
        """
        if not self:
            return None
        due = self._due[0][0] if self._due else float("inf")
        if self._waiting:
            due = min(due, self._clock() + INTERVAL)
        while not self._stop.is_set() and (left := due - self._clock()) > 0:
            self._stop.wait(left)
        if self._stop.is_set() or not self._due or self._due[0][0] > self._clock():
            return None
        _, action, position = heapq.heappop(self._due)
        return action, position

    def seconds_to_next_action(self) -> float:
        """Below 0 for an action that is late; infinite for none. May be called by other threads."""
        if self._waiting:
            self._evaluate_triggers()
        return self._due[0][0] - self._clock() if self._due else float("inf")

    def _evaluate_triggers(self) -> None:
        """Schedule events whose trigger has come."""
        with self._lock:
            for position, (event, has_come) in tuple(self._waiting.items()):
                try:
                    come = has_come()
                except Exception as problem:  # requests may stay unanswered while faults are at work
                    log.info("%s: whether %s: %r", event.id, event.after, problem)
                    continue
                if come:
                    del self._waiting[position]
                    self.schedule(self._clock() + event.at, Action.INJECT, position)
