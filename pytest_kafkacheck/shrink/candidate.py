"""An experiment as something that can be shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from nemesis.schedule import Schedule
from nemesis.targets import Target
from pytest_kafkacheck.experiment.experiment import Experiment

COOLDOWN = 1.0
"""Seconds; shorter, readers may not get to what they were to see."""

BY_ID = ("node", "one", "random", "minority", "majority")
"""Targets that mean something else when the partitions lie elsewhere."""


@dataclass(frozen=True)
class Smaller:
    """A candidate, as `nemesis.shrink.search.Candidate` says."""

    experiment: Experiment

    @property
    def schedule(self) -> Schedule:
        return self.experiment.schedule

    def scheduled(self, schedule: Schedule) -> Smaller:
        return Smaller(replace(self.experiment, faults=schedule.events))

    def simpler(self) -> Iterator[tuple[str, Smaller]]:
        """Fewer nodes, then fewer clients, then the rest. What such a cluster or workload cannot have is left out."""
        for why, change in (*self._nodes(), *self._clients(), *self._others()):
            try:
                yield why, Smaller(replace(self.experiment, **change))
            except ValueError:
                continue

    def to_json(self) -> dict[str, Any]:
        return self.experiment.to_json()

    def _nodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        cluster, workload = self.experiment.cluster, self.experiment.workload
        if cluster.attached is not None:
            return
        chosen = all(
            each.target.kind not in BY_ID for each in self.schedule.events if isinstance(each.target, Target)
        )
        if workload.assignment is not None and chosen:
            yield "a layout of Kafka's choice", {"workload": replace(workload, assignment=None)}
        fewest = max([workload.replication_factor, *_last(workload.assignment)])
        if cluster.brokers > fewest:
            yield f"{fewest} brokers", {"cluster": replace(cluster, brokers=fewest)}
        for name in ("controllers", "zookeepers"):
            for fewer in (each for each in (1, 3) if each < getattr(cluster, name)):
                yield f"{fewer} {name}", {"cluster": replace(cluster, **{name: fewer})}  # type: ignore[arg-type]

    def _clients(self) -> Iterator[tuple[str, dict[str, Any]]]:
        workload = self.experiment.workload
        least = {"producers": 1, "readers": 0, "sessions": 0}
        fewer = {name: number for name, number in least.items() if getattr(workload, name) > number}
        if len(fewer) > 1:
            yield "one producer, nobody else", {"workload": replace(workload, **fewer)}  # type: ignore[arg-type]
        for name, number in fewer.items():
            yield f"{number} {name}", {"workload": replace(workload, **{name: number})}  # type: ignore[arg-type]

    def _others(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.experiment.cooldown > COOLDOWN:
            yield f"cooldown of {COOLDOWN:g} s", {"cooldown": COOLDOWN}


def _last(assignment: Any) -> list[int]:
    """The highest broker id an assignment names."""
    return [max(node for nodes in assignment.values() for node in nodes)] if assignment else []
