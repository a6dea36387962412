"""Cells that share one run: they differ only in settings of topics and clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from nemesis.event import Event
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.scenario import Layout
from pytest_kafkacheck.matrix.side_by_side import SideBySide
from workloads.workload import Workload

MOST = 12
"""Cells of one run. Each has a client process, and two cores have to serve them and the brokers."""

COOLDOWN = 2.0


@dataclass(frozen=True)
class Batch:
    """cells: with equal scenarios, clusters and racks."""

    cells: tuple[Cell, ...]

    @property
    def layout(self) -> Layout:
        return max((cell.layout for cell in self.cells), key=lambda layout: layout.replication)

    @property
    def faults(self) -> list[Event]:
        return self.cells[0].scenario.faults(self.layout)

    @property
    def names(self) -> tuple[str, ...]:
        """Of topics, in the order of the cells."""
        return tuple(f"cell{number}" for number in range(len(self.cells)))

    @property
    def experiment(self) -> Experiment:
        """The run of all cells."""
        cells = dict(zip(self.names, (cell.workload for cell in self.cells), strict=True))
        return self._experiment(self.cells[0], SideBySide(cells=cells), requires=())

    def experiment_of(self, cell: Cell) -> Experiment:
        """The same run with one cell alone: by this it is judged, and run again."""
        made = self._experiment(cell, cell.workload, requires=_required(cell))
        is_lost = cell.expected == "loses" and cell.workload.acknowledges
        return replace(made, name=cell.id, expect="invalid" if is_lost else "valid")

    def _experiment(self, cell: Cell, workload: Workload, *, requires: tuple[str, ...]) -> Experiment:
        scenario = cell.scenario
        return Experiment(
            name=scenario.name,
            workload=workload,
            faults=self.faults,
            cluster=replace(cell.cluster, brokers=self.layout.brokers),
            warm_up=scenario.warm_up,
            duration=scenario.duration,
            cooldown=COOLDOWN,
            requires=requires,
        )


def _required(cell: Cell) -> tuple[str, ...]:
    return ("acks-after-faults",) if cell.workload.acknowledges else ()


def batches(cells: Iterable[Cell]) -> list[Batch]:
    """In an order that starts as few clusters as possible."""
    groups: defaultdict[tuple[str, str, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        cluster = cell.cluster
        groups[cluster.digest, cell.scenario.name, cell.in_rack].append(cell)
    # Batches of one cluster follow one another, in the order in which clusters are first needed.
    clusters = list(dict.fromkeys(digest for digest, _, _ in groups))
    ordered = sorted(groups.items(), key=lambda group: clusters.index(group[0][0]))
    return [
        Batch(tuple(those[start : start + size]))
        for _, those in ordered
        for size in [1 if those[0].scenario.alone else MOST]
        for start in range(0, len(those), size)
    ]
