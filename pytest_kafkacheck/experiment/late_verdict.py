"""The verdict on a run that was interrupted. The session prints it if it is there within a short time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from nemesis.tasks import in_thread
from nemesis.wait import wait_until
from pytest_kafkacheck.run import Run

log = logging.getLogger(__name__)

LIMIT = 3.0
"""Seconds from the end of the run for the verdict. Meanwhile the cluster is removed."""


class LateVerdict:
    """Judges in a thread. judge: returns the run with its verdict; what it raises is logged."""

    def __init__(self, judge: Callable[[], Run], *, limit: float = LIMIT) -> None:
        self._deadline = time.monotonic() + limit
        self._judging = in_thread(judge, "kafkacheck-late-verdict")

    def headline(self) -> str | None:
        """The result and what decides it. Waits until the limit. None if there is none by then."""
        if not wait_until(self._judging.done, limit=self._deadline - time.monotonic()):
            return None
        try:
            return self._judging.result().headline()
        except Exception as problem:
            log.info("an interrupted run was not judged: %r", problem)
            return None
