"""The faults on one cluster, of all schedules that are carried out there at the same time."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from nemesis.cluster import Node
from nemesis.event import Event
from nemesis.event_run import EventRun
from nemesis.run_effects import Effects


class ClusterFaults:
    """What the schedules share, so that none undoes at its end what another one still wants. Safe for use by several
    threads.

    effects    what all faults ask of the nodes.
    beginning  lock; an event holds it while it checks whether it has to wait for another one.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self.effects = Effects(nodes)
        self.beginning = threading.Lock()
        self._runs: list[EventRun] = []
        self._schedules = 0
        self._joining = threading.Lock()

    @property
    def runs(self) -> Sequence[EventRun]:
        """The events of all schedules, also of those that have ended."""
        return tuple(self._runs)

    @property
    def is_idle(self) -> bool:
        """Whether no schedule is at work."""
        return not self._schedules

    def ahead(self, now: float) -> list[Event]:
        """The events that have not ended, with times from now on. now: seconds of the schedules' clock."""
        return [event for run in self.runs if (event := run.ahead(now)) is not None]

    def join(self, runs: Sequence[EventRun]) -> None:
        """A schedule with these events begins."""
        with self._joining:
            self._runs += runs
            self._schedules += 1

    def leave(self, runs: Sequence[EventRun]) -> list[str]:
        """A schedule with these events has ended. The last one also withdraws all that is left of any.

        Returns what failed and what is left.
        """
        with self._joining:  # a schedule that begins now waits, so that its faults are not withdrawn
            is_last = self._schedules == 1
            try:
                return self.effects.heal_rest(self._runs if is_last else runs, is_last=is_last)
            finally:
                self._schedules -= 1
