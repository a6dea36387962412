"""Playing one fault on a real cluster, for as long as a test wants."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from typing import Any

from nemesis.cluster import Clients
from nemesis.event import Event
from nemesis.run import Nemesis
from nemesis.schedule import Schedule
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster

LONG = 600.0
"""Seconds for a fault that the test ends itself."""


class Ticks(threading.Event):
    """Whoever waits for it looks at the clock again soon: the test moves it."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(min(timeout or 0.1, 0.1))


class Play:
    """One fault on a cluster: `with` it at work; afterwards it is healed, and its rows are there."""

    def __init__(
        self, cluster: DockerCluster, event: Event, *, topic: str, clients: Clients | None = None
    ) -> None:
        (self.event,) = Schedule.of([event]).events
        self.rows: dict[str, Mapping[str, Any]] = {}
        self._seen: queue.Queue[str] = queue.Queue()
        self._later = 0.0
        self._nemesis = Nemesis(
            Schedule.of([event]),
            cluster,
            topic=topic,
            seed=1,
            record=self._record,
            clients=clients,
            clock=lambda: time.monotonic() + self._later,
        )
        self._thread = threading.Thread(target=self._nemesis.run, args=(Ticks(),))

    def _record(self, row: Mapping[str, Any]) -> None:
        self.rows[row["value"]["stage"] if row["f"] != "heal-all" else "heal-all"] = row
        self._seen.put(row["value"]["stage"])

    def __enter__(self) -> Play:
        self._thread.start()
        assert self._seen.get(timeout=120) == "inject"
        if not self.injected["effective"]:
            self.finish()
        assert self.injected["effective"], str(self.rows["inject"])
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.finish()
        if kind is None:
            assert self.rows["heal"]["value"]["effective"], str(self.rows["heal"])
            assert "heal-all" not in self.rows, str(self.rows["heal-all"])

    def finish(self) -> None:
        if not self.event.fault.momentary:
            self._later = LONG  # now it is over
        self._thread.join(timeout=180)
        assert not self._thread.is_alive()

    @property
    def injected(self) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self.rows["inject"]["value"]
        return value

    @property
    def nodes(self) -> list[int]:
        return list(self.injected["nodes"])
