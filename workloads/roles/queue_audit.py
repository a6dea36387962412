"""Consumes what a share group has left, once its consumers have stopped, and records how far the group has got."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log, ShareProgress
from workloads.roles.context import WorkerContext
from workloads.roles.sharing import Sharing

POLL = 0.2
"""Seconds of one poll."""

ASK_AGAIN = 0.5
"""Seconds between two questions about the group's progress."""

ANSWER_LIMIT = 2.0
"""Seconds for one answer of a coordinator or a leader."""

LEAST_LIMIT = 15.0
"""Seconds for everything, and four durations of the lock besides: a killed consumer may have had the last records."""


def limit(lock: float) -> float:
    """Seconds that it takes at most."""
    return LEAST_LIMIT + 4 * lock


def audit(context: WorkerContext) -> None:
    """Wait for `context.stop`, then accept all that the group gets until it is done with every log, and record a row
    ``queue`` of the operations table for each. Options: those of `Sharing`."""
    context.ready()
    context.stop.wait()
    if not context.gone.is_set():
        QueueAudit(context).record()


class QueueAudit:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._leaders = Leaders(context.brokers, context.topics, stop=context.gone)
        self._limit = limit(context.options["share"]["lock"])
        self._ends: dict[Log, int] = {}
        self._problem = "no coordinator reported how far the group had got"

    def record(self) -> None:
        context, began = self._context, time.monotonic_ns()
        sharing = Sharing(context)
        progress = self._drain(sharing)
        sharing.close()
        now, settings = time.monotonic_ns(), context.options["share"]
        for log in self._logs():
            known = progress.get(log)
            reached = self._reached(log, known)
            # The settings of our share groups (`command.settings.share`), and the isolation that is the default.
            value: dict[str, Any] = {
                "lock": round(settings["lock"] * 1e9),
                "isolation": "read_uncommitted",
                "policy": settings["auto_offset_reset"],
            }
            if known is not None and known.delivery_limit is not None:
                value["delivery_limit"] = known.delivery_limit
            topic, partition = log
            context.writer("operations").append(
                run=context.run, op=context.op(), process=context.process, session=context.session, f="queue",
                type="info" if reached is None else "ok", invoked=began, completed=now, topic=topic,
                partition=partition, end_offset=reached, value=json.dumps(value),
                error=self._problem if reached is None else None,
                group=f"{context.options['group']}-{context.run}",
            )  # fmt: skip
        if missing := [log for log in self._logs() if self._reached(log, progress.get(log)) is None]:
            (topic, partition), *_ = missing
            context.problem(f"How far the group has got in {topic}-{partition} is unknown: {self._problem}")

    def _drain(self, sharing: Sharing) -> Mapping[Log, ShareProgress]:
        """The last progress that is known, of all logs if possible."""
        deadline, asked = time.monotonic() + self._limit, float("-inf")
        progress: dict[Log, ShareProgress] = {}
        while not self._context.gone.is_set() and time.monotonic() < deadline:
            if taken := sharing.poll(POLL):
                sharing.acknowledge(taken, ["accept"] * len(taken))
                continue
            if time.monotonic() - asked < ASK_AGAIN:
                continue
            try:
                self._read_ends()
                progress |= sharing.progress(ANSWER_LIMIT)
            except (OSError, TimeoutError) as error:
                self._problem = str(error)
            if all(self._is_done(log, progress.get(log)) for log in self._logs()):
                break
            asked = time.monotonic()
        return progress

    def _logs(self) -> list[Log]:
        """Of the topics, with the partitions that were added during the run."""
        return sorted({*self._context.logs, *self._leaders.logs})

    def _read_ends(self) -> None:
        """Nobody writes any more. Raises TimeoutError."""
        self._leaders.refresh()
        for log in self._logs():
            if log not in self._ends:
                self._ends[log] = self._leaders.offset(log, limit=ANSWER_LIMIT)

    def _is_done(self, log: Log, progress: ShareProgress | None) -> bool:
        """Nothing is known of a group in a log before the first acknowledgement there."""
        end = self._ends.get(log)
        if end is None or progress is None:
            return end == 0
        return progress.lag == 0 or progress.start >= end

    def _reached(self, log: Log, progress: ShareProgress | None) -> int | None:
        """The group is done with all records below; None: unknown. The start of what is left moves only when
        something behind it is written, so a lag of 0 counts as well."""
        if self._is_done(log, progress):
            return self._ends[log]
        return None if progress is None else progress.start
