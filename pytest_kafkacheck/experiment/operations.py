"""Rows of the operations table that the harness and the nemesis write."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workloads.clients.protocol import Log
from workloads.history.schema import VALUE_BITS
from workloads.history.writer import Writer


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
