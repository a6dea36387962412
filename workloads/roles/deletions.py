"""Deletions of records: an administrator removes the beginning of a log, and records what it asked for."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

from workloads.clients.connection import ask
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.clients.record_deletion import delete_records
from workloads.clients.requests import EARLIEST
from workloads.history.writer import Writer
from workloads.roles.context import WorkerContext

LIMIT = 1.0
"""Seconds for the leader to report the first offset and the end of its log."""

TIMEOUT = 2.0
"""Seconds for the answer to a deletion."""


class Deletions:
    """Deletes a share of the records of a log, from its beginning. Two rows ``deletion`` for each.

    The row of the request is on disk before the request is sent. Otherwise the history of an administrator that is
    killed before it has the answer would not explain why the records are gone.
    """

    def __init__(self, context: WorkerContext, leaders: Leaders) -> None:
        self._context = context
        self._leaders = leaders
        self._operations: Writer = context.writer("operations")

    def delete(self, log: Log, share: float) -> None:
        """Ask the leader to delete this share of its records, unless that is none, or no leader answers."""
        try:
            start = self._leaders.offset(log, at=EARLIEST, limit=LIMIT)
            end = self._leaders.offset(log, limit=LIMIT)
        except TimeoutError:
            self._context.counts["deletions given up"] += 1
            return
        before, node = start + int((end - start) * share), self._leaders.leader(log)
        if before <= start or node is None:
            return
        op, invoked = self._context.op(), time.monotonic_ns()
        asked = {"topic": log[0], "partition": log[1], "start_offset": start, "end_offset": before}
        self._record(op, invoked, type="info", **asked)
        way = partial(ask, self._context.brokers[node], timeout=TIMEOUT)
        ended = delete_records(way, log, before)
        value: dict[str, Any] = {"node": node}
        if ended.low_watermark is not None:
            value["low_watermark"] = ended.low_watermark
        self._record(
            op, invoked, type=ended.type, completed=time.monotonic_ns(), error=ended.error,
            value=json.dumps(value), **asked,
        )  # fmt: skip
        self._context.counts["deletions" if ended.type == "ok" else f"deletions {ended.type}"] += 1

    def _record(self, op: int, invoked: int, **columns: Any) -> None:
        self._operations.append(
            run=self._context.run,
            op=op,
            process=self._context.process,
            f="deletion",
            invoked=invoked,
            **columns,
        )
        self._operations.flush()
