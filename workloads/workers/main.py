"""The program of a worker process, started by `WorkerProcess` as ``python -P -m workloads.workers.main``.

It reads lines from standard input: its order as JSON, then ``go``, ``isolate``, ``connect``, ``stop``,
``limit WHAT VALUE`` (see `Limits`; without a value: no limit) and the names of phases that begin. It writes the lines
``ready``, ``problem TEXT``, ``progress {json}`` and ``done {json}``. The end of the input means that the parent has
died; the process then ends at once. On Linux the kernel kills it with its parent, because a paused process reads no
input.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from workloads.clients.command.process import ClientFailure
from workloads.load import PHASES
from workloads.reference import Reference
from workloads.roles.context import WorkerContext
from workloads.workers.parent_death import PARENT, end_with_parent
from workloads.workers.partitions import follow_partitions

PULSE = 0.2
"""Seconds between flushes of the history, and between progress lines."""

GRACE = 3.0
"""Seconds to end by itself after the parent has died."""

PER_SECOND = 5
"""Log records: a client that cannot connect logs thousands."""

CRASHED, ABANDONED = 70, 71
"""Exit statuses: the role raised an exception; the parent died and the role did not end in time."""


def main() -> int:
    """The exit status: 0 when the role returned, or its client failed, which is reported as its problem; CRASHED when
    it raised anything else (see standard error)."""
    if parent := os.environ.pop(PARENT, None):
        end_with_parent(int(parent))
    log_to_stderr()
    collect_garbage_seldom()
    out = sys.stdout
    # Output that a library prints must not look like a line of our protocol.
    sys.stdout = sys.stderr
    lock = threading.Lock()

    def report(line: str) -> None:
        with lock:
            print(line, file=out, flush=True)

    order = json.loads(sys.stdin.readline())
    context = WorkerContext(order, report=report)
    threading.Thread(target=_obey, args=(context, sys.stdin), name="orders", daemon=True).start()
    threading.Thread(target=_pulse, args=(context,), name="pulse", daemon=True).start()
    if context.follows_partitions:
        threading.Thread(target=follow_partitions, args=(context,), name="partitions", daemon=True).start()
    try:
        _function(order)(context)
        context.close()
    except ClientFailure as failure:
        # What was under way has no completion in the history, so that its outcome is unknown.
        context.problem(f"{context.role} {context.process}: {failure}")
        context.close()
    except Exception:
        traceback.print_exc()
        context.flush()
        return CRASHED
    if not context.gone.is_set():
        context.done()
    return 0


def collect_garbage_seldom() -> None:
    """Each collection visits the records in flight: with 20,000 of them, collections took a third of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def _function(order: Mapping[str, Any]) -> Callable[[WorkerContext], None]:
    """The function of the role. One from a file of the user may import what the parent process could import."""
    sys.path += [entry for entry in order["path"] if entry not in sys.path]
    function: Callable[[WorkerContext], None] = Reference.from_json(order["function"]).load()
    return function


def _obey(context: WorkerContext, orders: TextIO) -> None:
    for line in orders:
        try:
            _follow(context, line.split())
        except OSError as error:  # the fault that asked for it sees that it has no effect
            context.problem(f"{context.role} {context.process}: {line.strip()}: {error}")
    context.network.open()
    context.gone.set()
    context.stop.set()
    context.go.set()
    time.sleep(GRACE)
    os._exit(ABANDONED)


def _follow(context: WorkerContext, words: list[str]) -> None:
    """Raises OSError when the kernel refuses."""
    match words:
        case ["go"]:
            context.go.set()
        case ["isolate"]:
            context.network.close()
            _report_network(context)
        case ["connect"]:
            context.network.open()
            _report_network(context)
        case ["limit", what, *value] if context.limits is not None:
            context.limits.limit(what, float(value[0]) if value else None)
        case [phase] if phase in PHASES:
            context.phase = phase
        case ["stop"]:
            # Operations that have begun may complete, and for that they need the network.
            context.network.open()
            context.stop.set()
            context.go.set()


def _count_network(context: WorkerContext) -> None:
    network = context.network
    context.counts["isolated"], context.counts["blocked"] = int(network.is_closed), network.tried


def _report_network(context: WorkerContext) -> None:
    """At once: an instance that is frozen until its packets are cut waits for it."""
    _count_network(context)
    context.progress()


def _pulse(context: WorkerContext) -> None:
    """Flushes rows even when no more are appended, and reports progress to the parent."""
    try:
        while not context.gone.wait(PULSE):
            context.flush()
            _count_network(context)
            if (limits := context.limits) is not None:
                for name, value in limits.counts().items():
                    context.counts[name] = value
            context.progress()
    except Exception:
        # The history cannot be written, which ends the worker, or the pipe is closed because the parent is dying.
        if not context.gone.wait(GRACE):
            traceback.print_exc()
            os._exit(CRASHED)


class _Limited(logging.Filter):
    """Lets through a number of records per second, without their tracebacks."""

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


def log_to_stderr() -> None:
    """What client libraries log, limited."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message).300s"))
    handler.addFilter(_Limited(PER_SECOND))
    logger = logging.getLogger("kafka")
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    logger.propagate = False


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    # Not by returning from main: a client that hangs must not keep a process whose history is complete.
    os._exit(status)
