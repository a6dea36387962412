"""Ends of logs from their current leaders.

A leader that is isolated from its peers continues to answer clients: without an error, with an outdated end. So the
request names the highest leader epoch that any broker has reported, and a leader of an older epoch has to refuse it.
Epochs begin again when a topic is created again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import kafka.errors
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_after_delay,
    stop_any,
    stop_when_event_set,
    wait_fixed,
)

from workloads.clients import requests
from workloads.clients.connection import Address, ask
from workloads.clients.protocol import Log
from workloads.clients.requests import LATEST, Leadership

TIMEOUT = 1.0
"""Seconds for one answer of one broker."""


class Leaders:
    """Finds leaders by asking every broker. Not thread-safe.

    stop  ends a wait early when set.
    """

    def __init__(
        self, brokers: Mapping[int, Address], topics: Iterable[str], *, stop: threading.Event
    ) -> None:
        self._brokers = brokers
        self._topics = tuple(topics)
        self._stop = stop
        self._known: dict[Log, Leadership] = {}
        self._ids: dict[str, str] = {}
        """The id of each topic."""
        self._deleted: set[str] = set()
        """Ids that topics had before. Brokers that lag behind still report them."""
        self._recreated: set[str] = set()
        # Its threads are not joined at exit, so a broker that hangs does not delay the end of the process.
        self._pool = ThreadPoolExecutor(max_workers=len(brokers), thread_name_prefix="leaders")

    @property
    def logs(self) -> tuple[Log, ...]:
        """Of which any broker has reported a leader so far."""
        return tuple(self._known)

    def epoch(self, log: Log) -> int:
        """The highest leader epoch that any broker has reported so far; -1 for none."""
        return self._known[log].leader_epoch if log in self._known else -1

    def leader(self, log: Log) -> int | None:
        """Node id of the leader of the highest epoch that any broker has reported so far; None for none."""
        node = self._known[log].leader if log in self._known else None
        return node if node in self._brokers else None

    def offset(
        self,
        log: Log,
        *,
        at: int = LATEST,
        epoch: int = -1,
        least: int = -1,
        committed: bool = False,
        limit: float,
    ) -> int:
        """An offset of the log from its leader.

        at     LATEST: the end of what can be read; EARLIEST: the first offset; a timestamp in ms since the epoch: the
               first offset whose record is not older, -1 if there is none.
        committed  LATEST is the last stable offset, where a consumer with isolation.level=read_committed stops.
        epoch  the highest leader epoch that the caller has seen; the answer is of this one or later. It says nothing
               after the topic was created again.
        least  the lowest answer to accept. For a caller that knows an offset of the log, and not in which epoch: a
               lower answer may be that of a leader that was replaced, so brokers are asked again.
        limit  seconds; after that TimeoutError, which names the last refusal.
        """
        retrying = Retrying(
            stop=stop_any(stop_after_delay(limit), stop_when_event_set(self._stop)),
            wait=wait_fixed(0.1),
            sleep=sleep_using_event(self._stop),
            retry=retry_if_exception_type(OSError),
        )
        try:
            return retrying(self._offset, log, at, epoch, least, committed)
        except RetryError as error:
            raise TimeoutError(
                f"{log[0]}-{log[1]}: no leader of epoch {max(epoch, self.epoch(log))} or later gave its "
                f"offset {at} within {limit:g} s; last: {error.last_attempt.exception()}"
            ) from error

    def refresh(self) -> None:
        """Ask every broker, and keep the view with the highest epoch of each log."""
        views = [*self._pool.map(self._view, self._brokers)]
        self._compare_ids(views)
        for view in views:
            for log, reported in view.items():
                if reported.topic_id in self._deleted:
                    continue
                newer = reported.leader_epoch > self.epoch(log)
                if newer or (reported.leader_epoch == self.epoch(log) and reported.leader >= 0):
                    self._known[log] = reported

    def _compare_ids(self, views: Iterable[Mapping[Log, Leadership]]) -> None:
        """Forget what was known of a topic if most brokers that answer report another id for it."""
        reported: dict[str, Counter[str]] = {}
        for view in views:
            for topic, topic_id in {(log[0], at.topic_id) for log, at in view.items()}:
                if topic_id and topic_id not in self._deleted:
                    reported.setdefault(topic, Counter())[topic_id] += 1
        for topic, ids in reported.items():
            ((most, _),) = ids.most_common(1)
            before = self._ids.setdefault(topic, most)
            if ids[most] > ids[before]:
                self._ids[topic] = most
                self._deleted.add(before)
                self._recreated.add(topic)
                self._known = {log: at for log, at in self._known.items() if log[0] != topic}

    def _view(self, node: int) -> dict[Log, Leadership]:
        try:
            return requests.metadata(partial(ask, self._brokers[node], timeout=TIMEOUT), self._topics)
        except OSError:
            return {}

    def _offset(self, log: Log, at: int, epoch: int, least: int, committed: bool) -> int:
        if log[0] in self._recreated:
            epoch, least = -1, -1
        if self.epoch(log) < max(epoch, 0) or self._known[log].leader not in self._brokers:
            self.refresh()
        known = self._known.get(log)
        if known is None or known.leader not in self._brokers:
            raise OSError(f"no broker names a leader: {known}")
        if known.leader_epoch < epoch:
            raise OSError(f"no broker knows leader epoch {epoch}; the highest is {known.leader_epoch}")
        way = partial(ask, self._brokers[known.leader], timeout=TIMEOUT)
        try:
            asked = {log: known.leader_epoch}
            code, offset = requests.offsets(way, asked, at=at, committed=committed)[log]
        except OSError:
            self.refresh()
            raise
        if code:
            self.refresh()
            raise OSError(f"broker {known.leader} answered {kafka.errors.for_code(code).__name__}")
        if offset < least:
            self.refresh()
            raise OSError(
                f"broker {known.leader} answered {offset} in epoch {known.leader_epoch}, and {least} is known"
            )
        return offset
