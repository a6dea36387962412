"""The keyed writer: updates and deletes keys that no other process writes."""

from __future__ import annotations

import random

from workloads.clients.protocol import Log
from workloads.keys import Keyed
from workloads.load import highest, largest, shares
from workloads.roles.context import WorkerContext
from workloads.roles.pace import Paces
from workloads.roles.producer import DRAIN_LIMIT, TICK, limits
from workloads.roles.sending import Sending

RETIRED = 0.5
"""Share of the deleted keys that are never written again. The others come back with their next update."""


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
    """Send until `context.stop` is set. All records of a key are in one log.

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
