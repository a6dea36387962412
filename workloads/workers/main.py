"""A client process. Started by `crew` as ``python -P -m workloads.workers.main``.

In, line by line: the order as JSON, ``go``, ``isolate``, ``connect``, ``stop``. Out: ``ready``, ``progress {json}``,
``done {json}``.
The end of the input means that the parent has died: then this process ends at once, too.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TextIO

from workloads.clients.network_gate import GATE
from workloads.roles.context import WorkerContext
from workloads.roles.final_read import read_finally
from workloads.roles.probe import probe
from workloads.roles.producer import produce
from workloads.roles.reader import read
from workloads.roles.session import converse

ROLES: dict[str, Callable[[WorkerContext], None]] = {
    "producer": produce,
    "reader": read,
    "session": converse,
    "probe": probe,
    "final": read_finally,
}

PULSE = 0.2
"""Seconds between flushes of the history, and between progress lines."""

GRACE = 3.0
"""Seconds to end by itself after the parent has died."""

CRASHED, ABANDONED = 70, 71


def main() -> int:
    """The exit status: 0 when the role came to its end, CRASHED when it raised (see standard error)."""
    _log_to_stderr()
    out = sys.stdout
    # Whatever a library prints must not look like our protocol.
    sys.stdout = sys.stderr
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            print(line, file=out, flush=True)

    job = WorkerContext(json.loads(sys.stdin.readline()), say=say)
    threading.Thread(target=_obey, args=(job, sys.stdin), name="orders", daemon=True).start()
    threading.Thread(target=_pulse, args=(job,), name="pulse", daemon=True).start()
    try:
        ROLES[job.role](job)
        job.close()
    except Exception:
        traceback.print_exc()
        job.flush()
        return CRASHED
    if not job.gone.is_set():
        job.done()
    return 0


def _obey(job: WorkerContext, orders: TextIO) -> None:
    for line in orders:
        match line.strip():
            case "go":
                job.go.set()
            case "isolate":
                GATE.close()
            case "connect":
                GATE.open()
            case "stop":
                # What is under way may end, and for that it must get through.
                GATE.open()
                job.stop.set()
                job.go.set()
    GATE.open()
    job.gone.set()
    job.stop.set()
    job.go.set()
    time.sleep(GRACE)
    os._exit(ABANDONED)


def _pulse(job: WorkerContext) -> None:
    """Rows reach the disk even when no more are appended; the parent sees how far we are."""
    try:
        while not job.gone.wait(PULSE):
            job.flush()
            job.counts["isolated"], job.counts["in vain"] = int(GATE.closed), GATE.tried
            job.progress()
    except Exception:
        # A history that cannot be written is no history. A closed pipe: the parent is dying.
        if not job.gone.wait(GRACE):
            traceback.print_exc()
            os._exit(CRASHED)


class _Sparing(logging.Filter):
    """Lets through so many records per second: a client that cannot connect logs thousands."""

    def __init__(self, per_second: int) -> None:
        super().__init__()
        self._per_second = per_second
        self._second, self._count = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        second = int(record.created)
        if second != self._second:
            self._second, self._count = second, 0
        self._count += 1
        record.exc_info = record.exc_text = None
        return self._count <= self._per_second


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message).300s"))
    handler.addFilter(_Sparing(5))
    logger = logging.getLogger("kafka")
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    logger.propagate = False


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Not by returning: clients that hang must not keep a process whose history is complete.
    os._exit(status)
