"""The cells that a test session has selected: the first of a batch to be asked for runs all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_kafkacheck.matrix.batch import batches
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.cell_result import CellResult

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
