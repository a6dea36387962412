"""An experiment as a candidate of the search for the smallest one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from nemesis.schedule import Schedule
from nemesis.targets import Target
from pytest_kafkacheck.experiment.experiment import Experiment

COOLDOWN = 1.0
"""Seconds; with fewer, readers may not reach the records that show the anomaly."""

PLACED = ("node", "one", "random", "minority", "majority")
"""Targets that are other replicas of a partition when its layout changes."""


@dataclass(frozen=True)
class ExperimentCandidate:
    """Implements `nemesis.shrink.search.Candidate`."""

    experiment: Experiment

    @property
    def schedule(self) -> Schedule:
        return self.experiment.schedule

    def scheduled(self, schedule: Schedule) -> ExperimentCandidate:
        return ExperimentCandidate(replace(self.experiment, faults=schedule.events))

    def simpler(self) -> Iterator[tuple[str, ExperimentCandidate]]:
        """With fewer nodes, then with a smaller workload, then with a shorter cooldown.

        A change that this cluster or workload does not allow is left out.
        """
        for why, change in (*self._nodes(), *self._workloads(), *self._cooldowns()):
            try:
                yield why, ExperimentCandidate(replace(self.experiment, **change))
            except ValueError:
                continue

    def to_json(self) -> dict[str, Any]:
        return self.experiment.to_json()

    def _nodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        cluster, layout = self.experiment.cluster, self.experiment.layout
        if cluster.attached is not None:
            return
        by_role = all(
            each.target.kind not in PLACED for each in self.schedule.events if isinstance(each.target, Target)
        )
        if layout is not None and by_role:
            # A workload may have a layout and yet not let it be changed.
            with suppress(ValueError):
                yield "a layout of Kafka's choice", {"workload": self.experiment.workload.with_layout(None)}
        fewest = max(
            *(topic.replication_factor for topic in self.experiment.workload.topics("check")),
            *(node for nodes in (layout or {}).values() for node in nodes),
            1,
        )
        if cluster.brokers > fewest:
            yield f"{fewest} brokers", {"cluster": replace(cluster, brokers=fewest)}
        for name in ("controllers", "zookeepers"):
            for fewer in (each for each in (1, 3) if each < getattr(cluster, name)):
                yield f"{fewer} {name}", {"cluster": replace(cluster, **{name: fewer})}  # type: ignore[arg-type]

    def _workloads(self) -> Iterator[tuple[str, dict[str, Any]]]:
        try:
            for why, workload in self.experiment.workload.smaller():
                yield why, {"workload": workload}
        except ValueError:
            return

    def _cooldowns(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.experiment.cooldown > COOLDOWN:
            yield f"cooldown of {COOLDOWN:g} s", {"cooldown": COOLDOWN}
