"""Producers: roles that send at the rates of their phases, and what is due at these rates."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from workloads.clients.protocol import Log
from workloads.keys import Keyed
from workloads.load import Rate, drawn_logs, highest, largest, rates_by_phase, shares
from workloads.roles.context import WorkerContext
from workloads.roles.sending import Sending
from workloads.tokens import body

if TYPE_CHECKING:
    from workloads.roles.context import WorkerContext


IN_FLIGHT = 500
"""Open sends at most: the memory of the client has no limit of its own."""

CHUNK = 100
"""Records at most whose invocations share one write to disk."""

TICK = 0.02
"""Seconds between chunks at a given rate."""

PATIENCE = 0.2
"""Seconds for which open sends have room at a given rate: an acknowledgement takes this long on a busy machine."""

OPEN_BYTES = 128 << 20
"""Of the values of these sends, beyond `IN_FLIGHT`."""

DRAIN_LIMIT = 10.0

RETIRED = 0.5
"""Share of the deleted keys that are never written again. The others come back with their next update."""


def produce(context: WorkerContext) -> None:
    """Send unique values to the logs until `context.stop` is set.

    Options: rate (see `workloads.load.Rate`), topic (its name in the workload, as `WorkerContext.logs_of` has it; if
    absent, all topics), skew (of the load on its partitions, see `workloads.load.shares`; if absent, they get records
    in turn), and those of `Sending`.
    """
    send_until_stopped(context, Sending(context, context.records()))


def send_until_stopped(
    context: WorkerContext, sending: Sending, keyed: Callable[[Sequence[Log]], Sequence[Keyed]] = lambda _: ()
) -> None:
    """keyed: gives the keys of sends to these logs; none by default. Options as for `produce`."""
    options = context.options
    if sending.connect():
        context.ready()
    logs = drawn_logs(
        lambda: context.logs_of(options["topic"]) if "topic" in options else context.logs,
        options.get("skew", 0),
        random.Random(f"{context.run}/{context.process}/logs"),
    )
    paces = Paces(context, options["rate"])
    chunk, in_flight = limits(highest(options["rate"]), largest(options["record_size"]))
    last = float("-inf")
    while not context.stop.is_set():
        sending.collect(TICK)
        room = in_flight - sending.in_flight
        now, due = time.monotonic(), paces.due()
        is_time = room >= chunk // 2 if due is None else now - last >= TICK
        wanted = room if due is None else min(room, due)
        if is_time and wanted > 0:
            count = min(wanted, chunk)
            chosen = [*islice(logs, count)]
            sending.send(chosen, paces.take(count), keyed=keyed(chosen))
            last = now
    sending.finish(DRAIN_LIMIT)


def limits(rate: float | None, record_size: int) -> tuple[int, int]:
    """Records of one chunk, and open sends, that a rate needs: a chunk that is late has to make up for two."""
    if rate is None:
        return CHUNK, IN_FLIGHT
    in_flight = min(ceil(rate * PATIENCE), OPEN_BYTES // max(record_size, 1))
    return max(CHUNK, ceil(rate * TICK * 2)), max(IN_FLIGHT, in_flight)


def feed(context: WorkerContext) -> None:
    """Feed an application: send records with a key, and with an identity in text and header, until `context.stop` is
    set.

    Options: record (the template of `workloads.tokens.body`), keys (number of keys), and those of
    `produce`; record_size does not apply.
    """
    template: str = context.options["record"]
    number: int = context.options["keys"]
    partitions = len(context.logs_of(context.options["topic"]))
    sending = Sending(
        context, context.records(), body=lambda value, key: body(template, context.run, value, key)
    )
    turns: Counter[int] = Counter()

    def keyed(logs: Sequence[Log]) -> list[Keyed]:
        """Each key has one partition, in which its keys take turns."""
        keys = []
        for _, partition in logs:
            of_partition = range(partition, number, partitions)
            keys.append(Keyed(of_partition[turns[partition] % len(of_partition)]))
            turns[partition] += 1
        return keys

    send_until_stopped(context, sending, keyed)


class Keys:
    """The keys of one writer: `count` at a time, of which a deleted one may be replaced by a new one for good.

    A key is ``number of the writer + writers * n``, so writers have no key in common.
    """

    def __init__(
        self,
        *,
        writer: int,
        writers: int,
        count: int,
        deletes: float,
        skew: float = 0.0,
        choice: random.Random,
    ) -> None:
        self._next = writer + writers * count
        self._writers = writers
        self._live = [writer + writers * n for n in range(count)]
        self._deletes = deletes
        self._shares = shares(count, skew)
        self._choice = choice

    def take(self) -> Keyed:
        """The key of the next record, and whether it is deleted."""
        (place,) = self._choice.choices(range(len(self._live)), cum_weights=self._shares)
        key = self._live[place]
        if self._choice.random() >= self._deletes:
            return Keyed(key)
        if self._choice.random() < RETIRED:
            self._live[place] = self._next
            self._next += self._writers
        return Keyed(key, tombstone=True)


def write_keys(context: WorkerContext) -> None:
    """Update and delete keys that no other process writes, until `context.stop` is set. All records of a key are in
    one log.

    Options: writer (its number from 0), writers, keys (of this writer, at a time), skew (of the load on them, see
    `workloads.load.shares`), deletes (share of tombstones), rate (see `workloads.load.Rate`), and those of `Sending`.
    """
    options = context.options
    keys = Keys(
        writer=options["writer"],
        writers=options["writers"],
        count=options["keys"],
        deletes=options["deletes"],
        skew=options["skew"],
        choice=random.Random(f"{context.run}/{context.process}"),
    )
    sending = Sending(context, context.records())
    if sending.connect():
        context.ready()
    paces = Paces(context, options["rate"])
    chunk, in_flight = limits(highest(options["rate"]), largest(options["record_size"]))
    while not context.stop.is_set():
        sending.collect(TICK)
        wanted = min(chunk, in_flight - sending.in_flight)
        if (due := paces.due()) is not None:
            wanted = min(wanted, due)
        if wanted > 0:
            keyed = [keys.take() for _ in range(wanted)]
            sending.send(
                [log_of(context.logs, each.key) for each in keyed],
                paces.take(wanted),
                keyed=keyed,
            )
    sending.finish(DRAIN_LIMIT)


def log_of(logs: tuple[Log, ...], key: int) -> Log:
    return logs[key % len(logs)]


class Pace:
    """How many records are due at a rate, and when they were. After an outage it makes up for one second at most.

    skipped  records that were due and are left out.
    """

    def __init__(self, rate: float, now: float) -> None:
        self.skipped = 0.0
        self._rate = rate
        self._begin = now
        self._sent = 0

    def due(self, now: float) -> int:
        backlog = (now - self._begin) * self._rate - self._sent
        most = max(self._rate, 1.0)
        if backlog > most:
            self.skipped += backlog - most
            self._begin += (backlog - most) / self._rate
            backlog = most
        return int(backlog)

    def take(self, count: int) -> list[int]:
        """Count so many records as sent. Returns when they were due, in ns of the clock that `now` is read from."""
        first, self._sent = self._sent, self._sent + count
        return [int((self._begin + (first + number + 1) / self._rate) * 1e9) for number in range(count)]


class Paces:
    """The pace of the phase in which the run is, from now on. What was due in an earlier phase and was not sent in it
    is left out."""

    def __init__(self, context: WorkerContext, rate: Rate) -> None:
        self._context = context
        self._rates = rates_by_phase(rate)
        self._skipped = 0.0
        self._enter(context.phase)

    def due(self) -> int | None:
        """How many records are due; None in a phase without a limit. Reports what was left out."""
        if (phase := self._context.phase) != self._phase:
            if self._pace is not None:
                self._skipped += self._pace.due(time.monotonic()) + self._pace.skipped
            self._enter(phase)
        if self._pace is None:
            return None
        due = self._pace.due(time.monotonic())
        self._context.counts["skipped"] = int(self._skipped + self._pace.skipped)
        return due

    def take(self, count: int) -> Sequence[int]:
        """As `Pace.take`; empty in a phase without a limit."""
        return () if self._pace is None else self._pace.take(count)

    def _enter(self, phase: str) -> None:
        self._phase = phase
        rate = self._rates[phase]
        self._pace = Pace(rate, time.monotonic()) if rate is not None else None
