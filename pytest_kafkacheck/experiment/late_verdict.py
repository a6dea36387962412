"""The verdict of a run that was interrupted. Whoever interrupts does not wait for it: it is told if it is there in
time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError
from threading import Thread

from pytest_kafkacheck.run import Run

log = logging.getLogger(__name__)

LIMIT = 3.0
"""Seconds from the end of the run for the verdict, while the cluster is removed beside it."""


class LateVerdict:
    """Judges in a thread. judge: returns the run with its verdict; what it raises is logged."""

    def __init__(self, judge: Callable[[], Run], *, limit: float = LIMIT) -> None:
        self._deadline = time.monotonic() + limit
        self._outcome: Future[Run] = Future()
        # The process may end without it: a verdict can take longer than the limit.
        Thread(target=self._judge, args=(judge,), name="kafkacheck-late-verdict", daemon=True).start()

    def headline(self) -> str | None:
        """The result and what decides it. Waits until the limit. None if there is none by then."""
        try:
            return self._outcome.result(timeout=max(0.0, self._deadline - time.monotonic())).headline()
        except TimeoutError:
            return None
        except Exception as problem:
            log.info("an interrupted run was not judged: %r", problem)
            return None

    def _judge(self, judge: Callable[[], Run]) -> None:
        try:
            self._outcome.set_result(judge())
        except Exception as problem:
            self._outcome.set_exception(problem)
