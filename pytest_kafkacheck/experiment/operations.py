"""What the harness itself records of a run: rows of the operations table, steps that failed, and environment.json."""

from __future__ import annotations

import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.errors import KafkacheckError
from pytest_kafkacheck.experiment.recovery import UsedCluster
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from workloads.clients.library import library
from workloads.clients.protocol import Log
from workloads.history.schema import VALUE_BITS
from workloads.history.writer import Writer
from workloads.workers.pool import WorkerPoolError
from workloads.workload import Workload, libraries_of

log = logging.getLogger(__name__)


class OperationLog:
    """Writes operations that no client made into the history, as one process. Thread-safe."""

    def __init__(self, history: Path, run: str, process: int) -> None:
        self._writer = Writer(history, "operations", process)
        self._run, self._process, self._count = run, process, 0
        self._lock = threading.Lock()

    def record(self, row: Mapping[str, Any]) -> None:
        """Write one row; keys as in schema.OPERATIONS, `value` as a JSON-able object. On disk when this returns."""
        with self._lock:
            full = {"run": self._run, "process": self._process, "op": -self._count - 1, **row}
            full["op"] += self._process << VALUE_BITS
            full["value"] = json.dumps(full.get("value"), sort_keys=True)
            self._count += 1
            self._writer.append(**full)
            self._writer.flush()

    def phase(self, name: str, *, skipped: int) -> None:
        """Record that a phase of the run begins now; clients left out `skipped` sends before."""
        now = time.monotonic_ns()
        value = {"phase": name, "skipped": skipped}
        self.record({"f": "phase", "type": "ok", "invoked": now, "completed": now, "value": value})

    def problem(self, step: str, error: str, *, invoked: int) -> None:
        """Record that a step of the run failed."""
        self._add("problem", "info", {"step": step, "error": error}, invoked=invoked)

    def recovery(self, problem: str | None, *, limit: float, invoked: int) -> None:
        """Record whether the brokers agreed within `limit` seconds; `problem` is the last reason against it."""
        self._add(
            "recovery", "info" if problem else "ok", {"problem": problem, "limit": limit}, invoked=invoked
        )

    def unread(self, log: Log, reason: str, *, invoked: int) -> None:
        """Record that the final read of a partition could not be begun."""
        topic, partition = log
        self._add("unread", "info", {"reason": reason}, invoked=invoked, topic=topic, partition=partition)

    def comparison(
        self, log: Log, value: Mapping[str, Any], *, begin: int, end: int, error: str | None, invoked: int
    ) -> None:
        """Record how much of a partition is the same on all replicas, or why that is unknown."""
        topic, partition = log
        self._add(
            "comparison",
            "info" if error else "ok",
            value,
            invoked=invoked,
            topic=topic,
            partition=partition,
            start_offset=begin,
            end_offset=end,
            error=error,
        )

    def divergence(self, log: Log, value: Mapping[str, Any], *, offset: int, invoked: int) -> None:
        """Record that replicas of a partition differ, first at this offset."""
        topic, partition = log
        self._add(
            "divergence", "ok", value, invoked=invoked, topic=topic, partition=partition, start_offset=offset
        )

    def _add(self, f: str, type: str, value: Mapping[str, Any], *, invoked: int, **more: Any) -> None:
        completed = time.monotonic_ns()
        self.record(
            {"f": f, "type": type, "invoked": invoked, "completed": completed, "value": value, **more}
        )

    def close(self) -> None:
        self._writer.close()


class Steps:
    """Carries out steps of a run that has begun. One that fails is recorded, and the run goes on to its verdict.

    What was recorded before a step failed may already prove that acknowledged records are gone. A run that ended with
    an exception then would hide it, so the error becomes a row of the history, and the judgement takes it as a reason
    for doubt.
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
                self._say(f"{name}: {text}")
                self._operations.problem(name, text, invoked=began)


def write_environment(home: Path, cluster: UsedCluster, workload: Workload) -> None:
    """Versions, host and cluster, and one reading of both clocks, which relates the history's times to dates."""
    facts = {
        "kafkacheck": version("pytest-kafkacheck"),
        "clients": {name: library(name).version() for name in sorted(libraries_of(workload))},
        "python": platform.python_version(),
        "host": {"system": platform.platform(), "processors": os.cpu_count()},
        "cluster": {
            "run": cluster.run,
            # Passwords and keys are not kept.
            "brokers": {node: [at.host, at.port] for node, at in cluster.brokers.items()},
            "security": sorted({str(at.security or "PLAINTEXT") for at in cluster.brokers.values()}),
        },
        "clock": {"monotonic_ns": time.monotonic_ns(), "unix_ns": time.time_ns()},
    }
    RunDirectory(home).environment.write_text(json.dumps(facts, indent=2) + "\n")


def write_layout(home: Path, cluster: UsedCluster, topic: str) -> None:
    """Add "layout" to environment.json: {partition: [node ids]} of the main topic, preferred leaders first.

    A replay needs it: without it, a node id does not say which partitions the node led.
    """
    file = RunDirectory(home).environment
    facts = json.loads(file.read_text())
    view = next(iter(metadata_views.views(cluster.brokers, [topic]).values()), {})
    facts["layout"] = {partition: list(each.replicas) for (_, partition), each in sorted(view.items())}
    unfinished = file.with_name(".environment.unfinished")
    unfinished.write_text(json.dumps(facts, indent=2) + "\n")
    os.replace(unfinished, file)
