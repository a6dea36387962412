"""Runs cells on real clusters, several in one run, and judges each by its own history."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.matrix.batch import Batch, batches
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.cell_result import CellResult
from pytest_kafkacheck.matrix.shown import Shown, shown
from pytest_kafkacheck.matrix.split import split
from pytest_kafkacheck.matrix.unacknowledged import unacknowledged
from pytest_kafkacheck.run import Run

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
