"""Runs cells on real clusters, several in one run, and judges each by its own history.

Cells share a run if they differ only in settings of topics and clients. Each has a topic and a producer of its own,
and the history of the run is split into one for each, as if it had been alone on the cluster.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from nemesis.event import Event
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.cell_result import CellResult, Shown, shown
from pytest_kafkacheck.matrix.scenarios import Layout
from pytest_kafkacheck.run import Run
from workloads.append_log import AppendLog
from workloads.history.schema import TABLES
from workloads.history.segments import read, segments
from workloads.values import make_topic
from workloads.workload import PROBE, PRODUCER, Topic, WorkerSpec, Workload, client_library

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


TRIES = 3
"""Runs of a cell whose loss did not occur, before it is reported as not reproduced."""


def check_cells(harness: Harness, cells: Iterable[Cell]) -> None:
    """Refuse what cannot be run here, before anything starts. Raises as `Harness.check`."""
    for batch in batches(cells):
        harness.check(batch.experiment)


def run_cells(
    harness: Harness,
    cells: Sequence[Cell],
    *,
    tries: int = TRIES,
    say: Callable[[str], None] = lambda _: None,
) -> list[CellResult]:
    """The results in the order of the cells. Cells that share a cluster, and a scenario, share a run.

    Raises what `Harness.run` raises.
    """
    results: dict[Cell, CellResult] = {}
    for batch in batches(cells):
        open_cells = batch.cells
        for number in range(tries):
            again = f", try {number + 1}" if number else ""
            say(f"{batch.cells[0].scenario.name}: {len(open_cells)} configurations in one run{again}")
            for cell, seen in run_batch(harness, Batch(open_cells)).items():
                before = results[cell].tries if cell in results else ()
                results[cell] = CellResult(cell, (*before, seen))
            open_cells = tuple(cell for cell in open_cells if results[cell].needs_another_try)
            if not open_cells:
                break
    return [results[cell] for cell in cells]


def run_batch(harness: Harness, batch: Batch) -> dict[Cell, Shown]:
    """One run of all cells of a batch, and what each showed."""
    together = RunDirectory(harness.record(batch.experiment))
    run = together.path.name.rpartition("-")[2]
    homes: list[RunDirectory] = []
    for number, (cell, name) in enumerate(zip(batch.cells, batch.names, strict=True)):
        own = f"{run}{secrets.token_hex(2)}"
        home = RunDirectory.create(harness.directory, name=cell.id, run=own)
        home.write_experiment(batch.experiment_of(cell))
        others = frozenset(range(len(batch.cells))) - {number}
        split(together, home, run=own, topic=f"{name}-{run}", others=others)
        homes.append(home)
    judged = harness.judge_runs([home.path for home in homes])
    return {cell: _shown(cell, run) for cell, run in zip(batch.cells, judged, strict=True)}


def _shown(cell: Cell, run: Run) -> Shown:
    without = None if cell.workload.acknowledges else unacknowledged(Path(run.path))
    return shown(cell, run.path, run.verdict, unacknowledged=without)


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
                library=client_library(cell),
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


RunCells = Callable[[tuple[Cell, ...]], list[CellResult]]


class SessionCells:
    """run: runs cells that share a run, and returns their results in the same order."""

    def __init__(self, selected: Iterable[Cell], run: RunCells) -> None:
        self._selected = tuple(dict.fromkeys(selected))
        self._run = run
        self._results: dict[Cell, CellResult] = {}

    def result(self, cell: Cell) -> CellResult:
        """Of this cell. A cell that was not selected is run on its own. Raises what running raises."""
        if cell not in self._results:
            together = next(
                (batch.cells for batch in batches(self._selected) if cell in batch.cells), (cell,)
            )
            open_cells = tuple(each for each in together if each not in self._results)
            self._results |= dict(zip(open_cells, self._run(open_cells), strict=True))
        return self._results[cell]


def split(
    source: RunDirectory, target: RunDirectory, *, run: str, topic: str, others: frozenset[int]
) -> None:
    """Copy what concerns a topic, and the cluster as a whole, into the folder of another run.

    run     the id of the other run.
    topic   its only topic, by its full name.
    others  processes of other cells.
    The history of the source must not be compacted yet.
    """
    folder = target.history / "segments"
    folder.mkdir(parents=True)
    for table, schema in TABLES.items():
        for file in segments(source.history, table):
            rows = _of_cell(read(file, schema), table, topic, others)
            if not len(rows):
                continue
            column = rows.schema.get_field_index("run")
            rows = rows.set_column(column, schema.field("run"), pa.array([run] * len(rows), pa.string()))
            # As the writer of segments leaves them: without the mark that ends a stream.
            batches = (batch.serialize() for batch in rows.to_batches())
            (folder / file.name).write_bytes(b"".join(map(memoryview, (schema.serialize(), *batches))))
    shutil.copy(source.environment, target.environment)
    target.logs.mkdir()
    for log in source.logs.iterdir():
        os.link(log, target.logs / log.name)


def _of_cell(rows: pa.Table, table: str, topic: str, others: frozenset[int]) -> pa.Table:
    """Rows of the topic, and those of no topic that do not come from, or speak of, another cell's process."""
    is_own = pc.equal(rows["topic"], topic)
    is_of_none = pc.is_null(rows["topic"])
    if table == "operations":
        is_of_none = pc.and_(is_of_none, pc.invert(_speaks_of(rows, others)))
    return rows.filter(pc.fill_null(pc.or_kleene(is_own, is_of_none), False))


def _speaks_of(rows: pa.Table, processes: frozenset[int]) -> pa.Array:
    """Whether the process of a row, or the worker that it is about, is one of these."""
    return pa.array(
        [
            process in processes or (f == "worker" and json.loads(value or "{}").get("process") in processes)
            for process, f, value in zip(
                rows["process"].to_pylist(), rows["f"].to_pylist(), rows["value"].to_pylist(), strict=True
            )
        ],
        pa.bool_(),
    )


def unacknowledged(home: Path) -> tuple[int, int]:
    """How many were sent, without those that the client knows to have failed; and how many of them no final read
    found."""
    rows = ds.dataset(home / "history" / "records").to_table(columns=["f", "type", "value", "final"])
    is_sent = pc.and_(pc.equal(rows["f"], "send"), pc.not_equal(rows["type"], "fail"))
    sent = set(rows.filter(is_sent)["value"].to_pylist())
    is_found = pc.and_(pc.equal(rows["f"], "poll"), pc.fill_null(rows["final"], False))
    return len(sent), len(sent - set(rows.filter(is_found)["value"].to_pylist()))
