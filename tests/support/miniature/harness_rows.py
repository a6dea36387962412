"""Rows of the history that the harness and the nemesis write: phases, client processes and faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.miniature.scheduler import Scheduler
from workloads.history.schema import HARNESS, NEMESIS, VALUE_BITS


class HarnessRows:
    def __init__(self, story: Any, scheduler: Scheduler) -> None:
        self._story, self._scheduler = story, scheduler
        self._operations = 0

    def phase(self, name: str) -> None:
        self._now("phase", "ok", {"phase": name})

    def worker(self, role: str, process: int, event: str, **stated: float) -> None:
        """stated: what the role states of itself, such as its `poll_limit`."""
        self._now("worker", "info", {"role": role, "process": process, "event": event, **stated})

    def topic(self, name: str, event: str, id: str, config: Mapping[str, str], *, invoked: int) -> None:
        """A topic was created or deleted; that was requested at `invoked`, and answered now."""
        value = {"event": event, "id": id, "config": dict(config)}
        self._write(HARNESS, "topic", "ok", value, topic=name, invoked=invoked, completed=self._scheduler.now)

    def fault(self, f: str, value: dict[str, Any], *, invoked: int, completed: int) -> None:
        self._write(NEMESIS, f, "info", value, invoked=invoked, completed=completed)

    def _now(self, f: str, type: str, value: Any) -> None:
        now = self._scheduler.now
        self._write(HARNESS, f, type, value, invoked=now, completed=now)

    def _write(
        self,
        process: int,
        f: str,
        type: str,
        value: Any,
        *,
        invoked: int,
        completed: int,
        topic: str | None = None,
    ) -> None:
        self._operations += 1
        self._story.operations.append({
            "f": f, "op": (process << VALUE_BITS) - self._operations, "process": process, "type": type,
            "value": value, "topic": topic, "partition": None, "invoked": invoked, "completed": completed,
        })  # fmt: skip
