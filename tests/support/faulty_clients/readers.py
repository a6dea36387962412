"""Readers with a defect. All of them read the first log only."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

from workloads.clients.protocol import Consumer, Log, Polled, PolledRecords
from workloads.roles import reader
from workloads.roles.context import WorkerContext

PAUSE = 0.2
"""Seconds between two polls, so that each of them returns several records."""

LEADER_LIMIT = 30.0
"""Seconds for the leader to report the end of its log."""

READ_BEFORE_STOP = 20
"""Records."""


def as_they_are(polled: Sequence[Polled], _: Sequence[Polled]) -> Sequence[Polled]:
    return polled


def without_the_second(polled: Sequence[Polled], _: Sequence[Polled]) -> Sequence[Polled]:
    return [*polled[:1], *polled[2:]]


def with_two_swapped(polled: Sequence[Polled], _: Sequence[Polled]) -> Sequence[Polled]:
    return [*reversed(polled[:2]), *polled[2:]]


def with_the_last_again(polled: Sequence[Polled], before: Sequence[Polled]) -> Sequence[Polled]:
    return [*before[-1:], *polled]


MISTAKES: tuple[Callable[[Sequence[Polled], Sequence[Polled]], Sequence[Polled]], ...] = (
    as_they_are,
    without_the_second,
    with_two_swapped,
    with_the_last_again,
)
"""What a library returns of the records that it got, and of those that it returned before."""


def read_wrongly(context: WorkerContext) -> None:
    """Make the mistakes in turn. Between them, go on at the end of the log without a word, as
    auto.offset.reset=latest does after an answer that the position is out of range."""
    (log, *_), records, leaders = context.logs, context.records(), context.leaders()
    consumer = context.consumer({log: leaders.offset(log, limit=LEADER_LIMIT)})
    context.ready()
    before: Sequence[Polled] = ()
    for mistake in cycle(MISTAKES):
        if context.stop.wait(PAUSE):
            break
        invoked = time.monotonic_ns()
        polled = mistake(consumer.poll(PAUSE), before)
        if polled:
            records.polled(
                context.op(),
                PolledRecords.of(polled),
                invoked=invoked,
                completed=time.monotonic_ns(),
                assignment=0,
            )
            before = polled
        if mistake is MISTAKES[-1]:
            context.stop.wait(PAUSE)
            consumer.seek(log, leaders.offset(log, limit=LEADER_LIMIT))
    consumer.close()


def read_and_stop(context: WorkerContext) -> None:
    """Read some records, and then wait for ever."""
    (log, *_), records = context.logs, context.records()
    consumer = context.consumer({log: 0})
    context.ready()
    count = 0
    while count < READ_BEFORE_STOP and not context.stop.is_set():
        count += _poll(context, consumer, partial(records.polled, assignment=0))
    context.stop.wait()
    consumer.close()


def read_to_an_old_end(context: WorkerContext) -> None:
    """A session whose client loses its position and then takes an end that it knew before for the end of the log."""
    (log, *_), leaders = context.logs, context.leaders()
    context.ready()
    for number in range(1000):
        end = leaders.offset(log, limit=LEADER_LIMIT)
        if context.stop.wait(PAUSE):
            break
        for known in (end, end // 2):
            _read_from_start(context, log, known, assignment=2 * number + (known < end))


def _read_from_start(context: WorkerContext, log: Log, end: int, *, assignment: int) -> None:
    op, invoked, records = context.op(), time.monotonic_ns(), context.records()
    consumer = context.consumer({log: 0})
    while consumer.positions[log] < end and not context.stop.is_set():
        asked = time.monotonic_ns()
        polled = PolledRecords.of(each for each in consumer.poll(PAUSE) if each.offset < end)
        records.polled(op, polled, invoked=asked, completed=time.monotonic_ns(), assignment=assignment)
    is_complete = consumer.positions[log] >= end
    consumer.close()
    context.reads("read").record(
        op, log, invoked=invoked, completed=time.monotonic_ns(), start=0, end=end,
        error=None if is_complete else "stopped",
    )  # fmt: skip


def read_uncommitted_as_committed(context: WorkerContext) -> None:
    """Read with isolation.level=read_uncommitted, and take the records for committed ones."""
    consumer = context.consumer

    def uncommitted(start: dict[Log, int], *, committed: bool = False) -> Consumer:  # noqa: ARG001
        return consumer(start)

    context.consumer = uncommitted  # type: ignore[method-assign,assignment]
    reader.read(context)


def _poll(context: WorkerContext, consumer: Consumer, record: Callable[..., None]) -> int:
    invoked = time.monotonic_ns()
    polled = consumer.poll(PAUSE)
    record(context.op(), polled, invoked=invoked, completed=time.monotonic_ns())
    return len(polled)
