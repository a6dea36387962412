"""How a run is getting on, in one line: ``12/35 s  kill leader (nodes 3)  ISR 2/3  1,020 acks/s``."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from nemesis.event import OPEN
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.progress import Show

INTERVAL = 0.5
"""Seconds between two lines, in which acknowledgements are counted as well."""


class RunStatus:
    """Keeps what a run is doing now, and shows it every half second. Another thread may call `act`.

    clock  monotonic seconds.
    """

    def __init__(
        self, experiment: Experiment, show: Show, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show, self._clock = show, clock
        self._length = length_of(experiment)
        self._phase = ""
        self._faults: dict[str, str] = {}
        self._began: float | None = None
        self._looked: tuple[float, int] | None = None

    def begin(self, phase: str) -> None:
        """The load counts from the first phase on."""
        self._phase = phase
        if self._began is None:
            self._began = self._clock()
        self._looked = None

    def act(self, row: Mapping[str, Any]) -> None:
        """A row of the nemesis."""
        value = row["value"]
        if value["stage"] != "inject":
            self._faults.pop(value["event"], None)
            return
        hit = value.get("processes", value["nodes"])
        what = "clients" if "processes" in value else "nodes"
        self._faults[value["event"]] = (
            f"{row['f']} {value['target']} ({what} {', '.join(map(str, hit)) or '–'})"
        )

    def look(self, acks: int, in_sync: int | None = None, replicas: int | None = None) -> None:
        """Show the line if it is time.

        acks      acknowledged sends so far.
        in_sync   replicas in the ISR of the partition that lacks the most, of so many `replicas`; None if unknown.
        """
        now = self._clock()
        if self._looked is not None and now - self._looked[0] < INTERVAL:
            return
        before, self._looked = self._looked, (now, acks)
        parts = [
            *self._time(now),
            *(list(self._faults.copy().values()) or [self._phase or "waiting for the load"]),
        ]
        if in_sync is not None:
            parts.append(f"ISR {in_sync}/{replicas}")
        if before is not None:
            parts.append(f"{(acks - before[1]) / (now - before[0]):,.0f} acks/s")
        self._show("  ".join(parts))

    def step(self, text: str) -> None:
        """Show what is done now, without load."""
        self._show("  ".join([*self._time(self._clock()), text]))

    def _time(self, now: float) -> list[str]:
        if self._began is None:
            return []
        elapsed = f"{now - self._began:.0f}"
        return [f"{elapsed} s" if self._length is None else f"{elapsed}/{self._length:.0f} s"]


def length_of(experiment: Experiment) -> float | None:
    """Seconds from the first phase to the end of the load, without the recovery. None where a trigger decides."""
    events = experiment.schedule.events
    if any(event.after is not None or event.lasting == OPEN for event in events):
        return None
    ends = [event.at + (0.0 if event.fault.momentary else event.lasting or 0.0) for event in events]
    return max(ends, default=experiment.duration) + experiment.cooldown
