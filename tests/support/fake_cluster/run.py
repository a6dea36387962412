"""A run of a nemesis on a fake cluster, in fake time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nemesis.cluster_faults import ClusterFaults
from nemesis.event import Event
from nemesis.run import Nemesis
from nemesis.schedule import Schedule
from nemesis.topology import Aliases
from tests.support.fake_cluster.clients import FakeClients
from tests.support.fake_cluster.cluster import FakeCluster
from tests.support.fake_cluster.manual_clock import ManualClock


@dataclass
class FakeRun:
    """rows: as the nemesis recorded them."""

    cluster: FakeCluster
    stop: ManualClock
    clients: FakeClients = field(default_factory=FakeClients)
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    topic: str = "log"
    aliases: Aliases = field(default_factory=Aliases)
    faults: ClusterFaults | None = None
    _finish_after: float | None = None

    def finish_after(self, seconds: float) -> None:
        """End the next run early then."""
        self._finish_after = seconds

    def carry_out(self, *events: Event, seed: int = 0) -> FakeRun:
        nemesis = Nemesis(
            Schedule.of(events),
            self.cluster,
            topic=self.topic,
            seed=seed,
            record=self.rows.append,
            clients=self.clients,
            aliases=self.aliases,
            clock=self.stop.time,
            start=self.stop.start,
            faults=self.faults,
        )
        if self._finish_after is not None:
            self.stop.arrange(self._finish_after, nemesis.finish)
        nemesis.run(self.stop)
        return self

    def row(self, event: str, stage: str) -> Mapping[str, Any]:
        (found,) = [r for r in self.rows if (r["value"]["event"], r["value"]["stage"]) == (event, stage)]
        return found

    def value(self, event: str, stage: str) -> Mapping[str, Any]:
        value: Mapping[str, Any] = self.row(event, stage)["value"]
        return value

    def effective(self) -> dict[tuple[str, str], bool]:
        return {(r["value"]["event"], r["value"]["stage"]): r["value"]["effective"] for r in self.rows}

    def times(self, stage: str) -> dict[str, float]:
        """Seconds after the beginning at which each event's stage began."""
        return {
            row["value"]["event"]: round(row["invoked"] / 1e9 - 100, 3)
            for row in self.rows
            if row["value"]["stage"] == stage
        }
