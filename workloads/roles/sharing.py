"""One client in one share group: what it acquires and acknowledges, and what it records of that."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from workloads.clients.protocol import (
    Acknowledgement,
    AcknowledgementType,
    Delivered,
    Ending,
    Log,
    ShareProgress,
)
from workloads.payload import decode
from workloads.roles.context import WorkerContext

POLLS_AHEAD = 1
"""Besides one for each broker: how many polls before it was returned a record may have been acquired. A library that
got records of several brokers at once returns those of one with each poll."""

COMMIT_LIMIT = 5.0
"""Seconds for the answers to acknowledgements: a request without one is given up after 3 s."""


class Taken(NamedTuple):
    """A delivery that is on disk. op: of its row."""

    op: int
    record: Delivered


class Sharing:
    """Rows ``delivery`` and ``acknowledgement`` of the operations table. For one thread.

    A delivery is on disk before it is acknowledged, and so is the first of the two rows of an acknowledgement.
    Otherwise the history of a consumer that is killed would lack records with which its group is done, and they would
    look lost.

    Options of the worker: group (its name in schedules), and share (the settings of `Library.share`).
    """

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._operations = context.writer("operations")
        self._polls: deque[int] = deque(maxlen=len(context.brokers) + 1 + POLLS_AHEAD)
        """When the last polls began, this one included (ns)."""
        self._group = f"{context.options['group']}-{context.run}"
        self._client = context.share(
            group=self._group, topics=tuple(context.topics), settings=context.options["share"]
        )

    def poll(self, timeout: float) -> list[Taken]:
        """What it acquired. All of it has to be acknowledged before the next poll."""
        context, invoked = self._context, time.monotonic_ns()
        self._polls.append(invoked)
        delivered = self._client.poll(timeout)
        now = time.monotonic_ns()
        if not delivered:
            return []
        op = context.op(len(delivered))
        taken = [Taken(number, record) for number, record in enumerate(delivered, op)]
        for each in taken:
            topic, partition = each.record.log
            value, problem = decode(each.record.payload, context.run, topic, partition)
            about = {"value": value, "deliveries": each.record.deliveries, "since": self._polls[0]}
            self._record("delivery", each, about, op=each.op, invoked=invoked, completed=now, error=problem)
        self._operations.flush()
        context.counts["deliveries"] += len(taken)
        return taken

    def acknowledge(self, taken: Sequence[Taken], types: Sequence[AcknowledgementType]) -> None:
        """All that the last poll returned, each with its type."""
        context, invoked = self._context, time.monotonic_ns()
        first = context.op(len(taken))
        rows = [
            (op, each, {"delivery": each.op, "kind": type})
            for op, each, type in zip(range(first, first + len(taken)), taken, types, strict=True)
        ]
        for op, each, about in rows:
            self._record("acknowledgement", each, about, op=op, invoked=invoked, type="info")
        self._operations.flush()
        asked = [
            Acknowledgement(each.record.log, each.record.offset, type)
            for each, type in zip(taken, types, strict=True)
        ]
        endings = self._client.acknowledge(asked, COMMIT_LIMIT)
        now = time.monotonic_ns()
        for op, each, about in rows:
            ending: Ending = endings[each.record.log]
            self._record(
                "acknowledgement", each, about, op=op, invoked=invoked, completed=now, type=ending.type,
                error=ending.error,
            )  # fmt: skip
            context.counts[f"acknowledgements {ending.type}"] += 1
            context.counts[f"{about['kind']} {ending.type}"] += 1

    def progress(self, limit: float) -> dict[Log, ShareProgress]:
        """Raises OSError."""
        return dict(self._client.progress(limit))

    def close(self) -> None:
        self._client.close()

    def _record(self, f: str, of: Taken, about: dict[str, Any], *, type: str = "ok", **columns: Any) -> None:
        topic, partition = of.record.log
        self._operations.append(
            run=self._context.run,
            process=self._context.process,
            session=self._context.session,
            f=f,
            type=type,
            topic=topic,
            partition=partition,
            start_offset=of.record.offset,
            value=json.dumps(about),
            group=self._group,
            **columns,
        )
