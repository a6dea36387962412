"""The rewinder: reads on, goes back to an earlier offset or time, and reads again, over and over."""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import NamedTuple

from workloads.clients.protocol import Log, Polled, PolledRecords
from workloads.payload import decode
from workloads.roles.context import WorkerContext
from workloads.roles.reader import LostPositions, poll, starts, with_added

REREAD_LIMIT = 10.0
"""Seconds until it gives up reading again."""

SEARCH_LIMIT = 2.0
"""Seconds for the answer to a search by time: nothing is polled meanwhile."""

REMEMBERED = 500
"""Records of each log for whose time it may search: one of each poll."""


class Known(NamedTuple):
    """A record that was polled; `timestamp` in ms since the epoch."""

    offset: int
    timestamp: int
    value: int


class Search(NamedTuple):
    """A search for the time of a known record, and the offset that the leader returned. Times in ns."""

    known: Known
    found: int
    invoked: int
    completed: int


class Target(NamedTuple):
    """Where a step back leads; `search` is None if it was no search that said so."""

    offset: int
    search: Search | None = None


def rewind(context: WorkerContext) -> None:
    """Poll all logs, and go back in one of them again and again, until `context.stop` is set.

    Options: interval (seconds of reading on between two steps back), span (records by which it goes back at most),
    by_time (share of the steps that search by time), and those of `LostPositions`.
    """
    rewinder = Rewinder(context)
    context.ready()
    while not context.stop.is_set():
        rewinder.read_on(context.options["interval"])
        rewinder.go_back()
    rewinder.close()


class Rewinder:
    """One consumer of all logs, what it remembers of them, and its part of the history."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._rewinds = context.reads("rewind")
        self._searches = context.reads("search")
        self._leaders = context.leaders()
        self._consumer = context.consumer(starts(context))
        self._lost_positions = LostPositions(context, self._leaders)
        self._choice = random.Random(f"{context.run}/{context.process}")
        self._known: defaultdict[Log, deque[Known]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    def read_on(self, seconds: float) -> None:
        """Poll for that long, at least once."""
        self._consumer = with_added(self._context, self._consumer)
        deadline = time.monotonic() + seconds
        self._poll()
        while time.monotonic() < deadline and not self._context.stop.is_set():
            self._poll()

    def go_back(self) -> None:
        """Choose a log that was read, and an earlier position in it, and read again up to the present one."""
        read = [log for log, known in self._known.items() if known]
        if not read:
            return
        log = self._choice.choice(read)
        if self._choice.random() < self._context.options["by_time"]:
            target = self._search(log)
        else:
            position = self._consumer.positions[log]
            least = max(0, position - self._context.options["span"])
            target = Target(self._choice.randint(least, max(position - 1, 0)))
        if target is not None:
            self._reread(log, target)

    def close(self) -> None:
        self._context.counts["assignments"] = self._consumer.assignment + 1
        self._consumer.close()

    def _reread(self, log: Log, target: Target) -> None:
        """One ``rewind``, ``ok`` if records were polled again up to the position before. Records the search, too,
        with the time of the record that it found."""
        context, end = self._context, self._consumer.positions[log]
        op, invoked, deadline = context.op(), time.monotonic_ns(), time.monotonic() + REREAD_LIMIT
        again, found, error = 0, None, None
        if target.offset < end:
            self._consumer.seek(log, target.offset)
        while self._consumer.positions[log] < end:
            if context.stop.is_set() or time.monotonic() > deadline:
                why = "stopped" if context.stop.is_set() else f"end not reached within {REREAD_LIMIT:g} s"
                error = f"{why}, at offset {self._consumer.positions[log]}"
                break
            here = [each for each in self._poll() if each.log == log]
            again += sum(each.offset < end for each in here)
            if found is None and here and here[0].offset == target.offset:
                found = here[0].timestamp
        if again == 0 and error is None:
            error = f"nothing is left from offset {target.offset} on"
        if target.search is not None:
            self._record_search(log, target.search, found)
        self._rewinds.record(
            op, log, invoked=invoked, completed=time.monotonic_ns(), start=target.offset, end=end, error=error
        )
        context.counts["rewinds" if error is None else "rewinds given up"] += 1

    def _search(self, log: Log) -> Target | None:
        """Ask the leader for the first record that is not older than some known one. None without an answer."""
        least = self._consumer.positions[log] - self._context.options["span"]
        candidates = [each for each in self._known[log] if each.offset >= least]
        if not candidates:
            return None
        known = self._choice.choice(candidates)
        invoked = time.monotonic_ns()
        try:
            found = self._leaders.offset(
                log, at=known.timestamp, epoch=self._consumer.leader_epoch(log), limit=SEARCH_LIMIT
            )
        except TimeoutError as error:
            self._record_search(log, Search(known, -1, invoked, time.monotonic_ns()), None, str(error))
            return None
        search = Search(known, found, invoked, time.monotonic_ns())
        if found < 0:
            self._record_search(log, search, None)
            return None
        return Target(found, search)

    def _record_search(self, log: Log, search: Search, found: int | None, error: str | None = None) -> None:
        value = {"timestamp": search.known.timestamp, "value": search.known.value, "found": found}
        self._searches.record(
            self._context.op(),
            log,
            invoked=search.invoked,
            completed=search.completed,
            start=search.known.offset,
            end=search.found if search.found >= 0 else None,
            error=error,
            value=json.dumps(value),
        )
        self._context.counts["searches" if error is None else "searches given up"] += 1

    def _poll(self) -> PolledRecords:
        polled = poll(self._context, self._consumer)
        self._remember(polled)
        self._lost_positions.mend(self._consumer, self._consumer.lost())
        return polled

    def _remember(self, polled: Iterable[Polled]) -> None:
        """One record of each log in this poll that lies behind those that are remembered."""
        by_log: dict[Log, list[Polled]] = {}
        for each in polled:
            by_log.setdefault(each.log, []).append(each)
        for log, records in by_log.items():
            one, known = self._choice.choice(records), self._known[log]
            value, problem = decode(one.payload, self._context.run, *log)
            is_new = not known or one.offset > known[-1].offset
            if is_new and value is not None and problem is None and one.timestamp is not None:
                known.append(Known(one.offset, one.timestamp, value))
