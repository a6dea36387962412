"""Roles of a share group: its consumers, and the auditor, which consumes what they have left."""

from __future__ import annotations

import json
import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workloads.clients.leaders import Leaders
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

POLL = 0.2
"""Seconds of one poll."""

POLLS_AHEAD = 1
"""Besides one for each broker: how many polls before it was returned a record may have been acquired. A library that
got records of several brokers at once returns those of one with each poll."""

COMMIT_LIMIT = 5.0
"""Seconds for the answers to acknowledgements: a request without one is given up after 3 s."""

CAREFUL = 2
"""Deliveries of a record after which it is accepted in any case: none is to reach the limit of its deliveries."""

LATENESS = 1.5
"""How long a late consumer keeps its records, in durations of the lock."""


def consume(context: WorkerContext) -> None:
    """Poll and acknowledge until `context.stop` is set. Options: release and reject (shares of the records), expire
    (the share of polls after which it lets the locks time out), and those of `Sharing`."""
    options, sharing = context.options, Sharing(context)
    draw = random.Random(f"{context.run}/{context.process}/share")
    context.ready()
    while not context.stop.is_set():
        taken = sharing.poll(POLL)
        if not taken:
            continue
        is_new = all((each.record.deliveries or 0) < CAREFUL for each in taken)
        if is_new and draw.random() < options["expire"]:
            context.counts["late"] += 1
            context.stop.wait(options["share"]["lock"] * LATENESS)
        sharing.acknowledge(
            taken, [_type(each, draw, options["release"], options["reject"]) for each in taken]
        )
    sharing.close()


def _type(of: Taken, draw: random.Random, release: float, reject: float) -> AcknowledgementType:
    drawn = draw.random()
    if (of.record.deliveries or 0) < CAREFUL and drawn < release:
        return "release"
    return "reject" if drawn > 1 - reject else "accept"


ASK_AGAIN = 0.5
"""Seconds between two questions about the group's progress."""

ANSWER_LIMIT = 2.0
"""Seconds for one answer of a coordinator or a leader."""

LEAST_LIMIT = 15.0
"""Seconds for everything, and four durations of the lock besides: a killed consumer may have had the last records."""


def audit_limit(lock: float) -> float:
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
        self._limit = audit_limit(context.options["share"]["lock"])
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


class Taken(NamedTuple):
    """A delivery that is on disk. op: of its row."""

    op: int
    record: Delivered


class Sharing:
    """One client in one share group, and its rows ``delivery`` and ``acknowledgement`` of the operations table. For
    one thread.

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
