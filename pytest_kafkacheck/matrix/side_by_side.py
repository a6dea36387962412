"""The workload of cells that share a run: each has a topic and a producer of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from workloads.append_log import AppendLog
from workloads.values import make_topic
from workloads.workload import PROBE, PRODUCER, Topic, WorkerSpec, Workload


@dataclass(frozen=True, kw_only=True)
class SideBySide(Workload):
    """cells: a workload with one producer and one topic, by the name of its topic. The process of the n-th cell has
    number n."""

    cells: Mapping[str, AppendLog]

    def topics(self, run: str) -> tuple[Topic, ...]:
        return tuple(make_topic(cell, f"{name}-{run}") for name, cell in self.cells.items())

    def workers(self) -> tuple[WorkerSpec, ...]:
        producers = [
            WorkerSpec(
                role=PRODUCER,
                process=process,
                library=cell.library,
                options={
                    "acks": cell.acks,
                    "idempotence": cell.idempotent,
                    "record_size": cell.record_size,
                    "client": dict(cell.client),
                    "rate": cell.rate,
                    "topic": name,
                },
            )
            for process, (name, cell) in enumerate(self.cells.items())
        ]
        return (*producers, WorkerSpec(role=PROBE, process=len(producers)))

    @property
    def load_counter(self) -> str:
        """A cell with acks=0 acknowledges nothing."""
        return "sends"

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name,),)

    @property
    def requires(self) -> frozenset[str]:
        """Each cell is judged on its own."""
        return frozenset()

    def to_json(self) -> dict[str, Any]:
        return {"cells": {name: cell.to_json() for name, cell in self.cells.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(cells={name: AppendLog.from_json(cell) for name, cell in data["cells"].items()})
