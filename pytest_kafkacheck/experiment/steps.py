"""The steps of a run that has begun. One that fails is recorded, and the run goes on to its verdict.

What was recorded before a step failed may already prove that acknowledged records are gone. A run that ended with an
exception then would hide it, so the error becomes a row of the history, and the judgement takes it as a reason for
doubt.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_kafkacheck.errors import KafkacheckError
from pytest_kafkacheck.experiment.operations import OperationLog
from workloads.workers.pool import WorkerPoolError

log = logging.getLogger(__name__)


class Steps:
    """Carries out steps of a run, and records those that fail.

    problems  the reason of each step that failed.
    """

    def __init__(self, operations: OperationLog, say: Callable[[str], None]) -> None:
        self._operations, self._say = operations, say
        self.problems: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Record what the block raises as a problem of this step. KeyboardInterrupt and its like pass."""
        began = time.monotonic_ns()
        try:
            yield
        except Exception as error:
            # An error that nobody foresaw must not hide what was recorded either; its traceback goes to the log.
            foreseen = isinstance(error, (KafkacheckError, WorkerPoolError))
            text = str(error) if foreseen else f"{type(error).__name__}: {error}"
            log.warning("step %s of the run failed", name, exc_info=not foreseen)
            if text not in self.problems:
                self.problems.append(text)
                self._operations.problem(name, text, invoked=began)
                self._say(f"{name}: {text}")
