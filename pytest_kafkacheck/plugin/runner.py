"""What the fixture `kafkacheck` gives to a test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast, overload

import pytest

from pytest_kafkacheck.plugin.cells import CELLS

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.experiment import Experiment
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.matrix.batch import SessionCells
    from pytest_kafkacheck.matrix.cell import Cell
    from pytest_kafkacheck.matrix.cell_result import CellResult
    from pytest_kafkacheck.run import Run


@contextmanager
def skipped_where_impossible() -> Iterator[None]:
    """Skip the test where the host cannot do one of its faults; the reason says which one, and why. Fail it in one
    line where an image or space on the disk is missing, or the session's cluster cannot be used: how we came to look
    for it says nothing to a user.
    """
    from pytest_kafkacheck.errors import CapabilityError, DiskFullError, KafkacheckError, MissingImageError

    try:
        yield
    except CapabilityError as error:
        pytest.skip(str(error))
    except (MissingImageError, DiskFullError) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    except KafkacheckError as error:
        if not error.is_of_cluster:
            raise
        raise pytest.fail.Exception(str(error), pytrace=False) from None


class Kafkacheck:
    """The fixture's value: call it with an experiment, get a `Run`."""

    def __init__(
        self,
        harness: Harness,
        *,
        name: str,
        unknown: bool,
        seed: int,
        is_repeated: bool,
        cells: Callable[[], SessionCells],
        record: Callable[[CellResult], None],
    ) -> None:
        self.runs: list[Run] = []
        self.seed = seed
        """Of this repetition of the test, see `--kafkacheck-repeat`."""
        self._is_repeated = is_repeated
        self._cells, self._record = cells, record
        self._results: list[CellResult] = []
        self._harness = harness
        self._name = name
        self._unknown = unknown

    @overload
    def __call__(self, experiment: Experiment) -> Run: ...
    @overload
    def __call__(self, experiment: Cell) -> CellResult: ...
    def __call__(self, experiment: Experiment | Cell) -> Run | CellResult:
        """Run an experiment, or a cell of a matrix, on a real cluster and judge it; skip the test where the host
        cannot do a fault.

        The first cell of several that can share a run, of all tests that are selected, runs all of them.
        Raises InfrastructureError when it recorded nothing to judge, UsageError when it makes no sense.
        """
        __tracebackhide__ = True
        if type(experiment).__module__ == CELLS:
            return self._cell(cast("Cell", experiment))
        from pytest_kafkacheck.experiment.experiment import require_experiment
        from pytest_kafkacheck.experiment.validation import late_fault

        experiment = require_experiment(experiment)
        if (late := late_fault(experiment)) is not None:
            warnings.warn(late, stacklevel=2)
        if self.seed:
            experiment = experiment.reseeded(self.seed)
        with skipped_where_impossible():
            run = self._harness.run(experiment, name=experiment.name or self._name)
        run.accept_unknown = self._unknown
        self.runs.append(run)
        return run

    def _cell(self, cell: Cell) -> CellResult:
        __tracebackhide__ = True
        if self._is_repeated:
            pytest.skip("a session runs a cell of a matrix once; repeat it with kafkacheck matrix --tries")
        with skipped_where_impossible():
            result = self._cells().result(cell)
        self._results.append(result)
        self._record(result)
        return result

    def check_looked_at(self) -> None:
        """Fail the test if it ran an experiment, looked at no verdict, and the verdict is not valid.

        A test that forgets to look at the verdict would otherwise pass although acknowledged writes were lost.
        """
        for run in self.runs:
            if not run.looked_at and run.result != "valid":
                self._harness.has_failed = True
                reason = "the test looked at no verdict, and this one is not valid"
                pytest.fail(f"{reason}: {run.text()}", pytrace=False)
        for result in self._results:
            if not result.looks and result.state != "as predicted":
                reason = "the test did not call assert_as_predicted(), and the cell is not as predicted"
                pytest.fail(f"{reason}: {result.cell.id}: {result.verdict}", pytrace=False)
