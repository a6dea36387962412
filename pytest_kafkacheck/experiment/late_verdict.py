"""The verdict on a run that was interrupted. The session prints it if it is there within a short time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from nemesis.tasks import in_thread, wait_until
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.termination import since_interrupt

log = logging.getLogger(__name__)

LATE_LIMIT = 4.4
"""Seconds from the signal for the verdict: 5 at most until the process has ended, where the machine has time for it.
Meanwhile faults are healed, which takes up to 2.5 s, and the cluster is removed, which takes 1. What follows takes
half a second."""


class LateVerdict:
    """The verdict on a run that was interrupted, judged in a thread. The session prints it if it is there in time.

    home   of the run.
    judge  takes it and returns the run with its verdict; what it raises is logged.
    limit  seconds from the signal that interrupted the run, or from now where there was none.
    """

    def __init__(self, home: Path, judge: Callable[[Path], Run], *, limit: float = LATE_LIMIT) -> None:
        self.home = home
        self._deadline = time.monotonic() - since_interrupt() + limit
        self._judging = in_thread(lambda: judge(home), "kafkacheck-late-verdict")

    def headline(self) -> str | None:
        """The result and what decides it. Waits until the limit. None if there is none by then."""
        if not wait_until(self._judging.done, limit=self._deadline - time.monotonic()):
            return None
        try:
            return self._judging.result().headline()
        except Exception as problem:
            log.info("an interrupted run was not judged: %r", problem)
            return None
