"""The reader: polls every log from its start, and sets positions anew that are no longer in their log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping

from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Consumer, Log, LostPosition, PolledRecords, ResetPolicy
from workloads.clients.requests import EARLIEST
from workloads.roles.context import WorkerContext

START_LIMIT = 60.0
"""Seconds for the leaders to answer where their logs start."""

ANSWER_LIMIT = 1.0
"""Seconds for the answer about a lost position, and between two questions about one log: the other logs wait
meanwhile."""


def starts(context: WorkerContext) -> dict[Log, int]:
    """The first offset of every log. Raises TimeoutError."""
    leaders = context.leaders()
    return {log: leaders.offset(log, at=EARLIEST, limit=START_LIMIT) for log in context.logs}


def read(context: WorkerContext) -> None:
    """Poll all logs until `context.stop` is set. Options: committed (read with isolation.level=read_committed), and
    those of `LostPositions`."""
    committed = context.options.get("committed", False)
    consumer = context.consumer(starts(context), committed=committed)
    lost_positions = LostPositions(context, context.leaders())
    context.ready()
    while not context.stop.is_set():
        consumer = with_added(context, consumer, committed=committed)
        poll(context, consumer, committed=committed)
        lost_positions.mend(consumer, consumer.lost())
    context.counts["assignments"] = consumer.assignment + 1
    consumer.close()


def with_added(context: WorkerContext, consumer: Consumer, *, committed: bool = False) -> Consumer:
    """The consumer of all logs; another one once partitions were added, which it reads from offset 0. committed: as
    for `poll`."""
    added = [log for log in context.logs if log not in consumer.positions]
    if not added:
        return consumer
    consumer.close()
    return context.consumer(
        {**consumer.positions, **dict.fromkeys(added, 0)},
        assignment=consumer.assignment + 1,
        committed=committed,
    )


def poll(context: WorkerContext, consumer: Consumer, *, committed: bool = False) -> PolledRecords:
    """Poll once, and record what was polled as one operation. committed: whether the consumer reads so."""
    invoked = time.monotonic_ns()
    polled = consumer.poll(0.2)
    if polled:
        context.records().polled(
            context.op(),
            polled,
            invoked=invoked,
            completed=time.monotonic_ns(),
            assignment=consumer.assignment,
            committed=committed,
        )
        context.counts["polled"] += len(polled)
    return polled


class LostPositions:
    """Positions that are no longer in their log: records were truncated or deleted, or the topic was created again.
    Sets them to the log's first offset or to its end, and records it.

    A broker that does not know yet that it lost the leadership refuses positions that exist. So the leader of the
    highest epoch is asked before a position moves, and what it answered is recorded.

    Options of the worker: auto_offset_reset.
    """

    def __init__(self, context: WorkerContext, leaders: Leaders) -> None:
        self._context = context
        self._lost = context.reads("position-lost")
        self._leaders = leaders
        self._policy: ResetPolicy = context.options.get("auto_offset_reset", "earliest")
        self._asked: dict[Log, float] = {}

    def mend(self, consumer: Consumer, lost: Iterable[LostPosition]) -> None:
        """Record truncations; of positions that are only refused, ask the leader, and move those that it confirms."""
        for each in lost:
            if each.divergence is not None:
                self._record(each, each.divergence, {"divergence": each.divergence}, time.monotonic_ns())
            elif time.monotonic() - self._asked.get(each.log, float("-inf")) >= ANSWER_LIMIT:
                self._asked[each.log] = time.monotonic()
                self._ask(consumer, each)

    def _ask(self, consumer: Consumer, lost: LostPosition) -> None:
        invoked = time.monotonic_ns()
        epoch = consumer.leader_epoch(lost.log)
        try:
            start = self._leaders.offset(lost.log, at=EARLIEST, epoch=epoch, limit=ANSWER_LIMIT)
            end = self._leaders.offset(lost.log, epoch=epoch, limit=ANSWER_LIMIT)
        except TimeoutError:
            return
        if start <= lost.position <= end:
            return
        target = start if self._policy == "earliest" else end
        consumer.seek(lost.log, target)
        value = {"log_start": start, "log_end": end, "auto_offset_reset": self._policy}
        self._record(lost, target, value, invoked)

    def _record(self, lost: LostPosition, target: int, value: Mapping[str, int | str], invoked: int) -> None:
        self._context.counts["positions lost"] += 1
        self._lost.record(
            self._context.op(),
            lost.log,
            invoked=invoked,
            completed=time.monotonic_ns(),
            start=lost.position,
            end=target,
            value=json.dumps(value),
        )
