"""The consumer of a client process behind our protocol."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from workloads.clients.command import messages
from workloads.clients.command.messages import Lost, Poll, Refusal
from workloads.clients.command.process import ClientProcess, Release
from workloads.clients.protocol import Log, LostPosition, PolledRecords, ReportedEnd

REFUSALS = 5
"""Answers in a row that a position is out of range, after which it counts as refused: metadata may be outdated."""

PAUSE = 0.05
"""Seconds before a poll that failed is repeated."""

CLOSE_LIMIT = 3.0


class CommandConsumer:
    """Implements `protocol.Consumer`. For one thread. Raises Refusal where the client cannot open it."""

    def __init__(
        self,
        process: ClientProcess,
        release: Release,
        *,
        config: Mapping[str, str],
        start: Mapping[Log, int],
        assignment: int,
    ) -> None:
        self._process: ClientProcess | None = process
        self._release = release
        self._config = dict(config)
        self._positions = dict(start)
        self._assignment = assignment
        self._wanted = frozenset(start)
        self._epochs: dict[Log, int] = {}
        self._refusals: Counter[Log] = Counter()
        self._truncated: list[LostPosition] = []
        self._ends: dict[Log, ReportedEnd] = {}
        self._open(process)

    @property
    def assignment(self) -> int:
        return self._assignment

    @property
    def positions(self) -> Mapping[Log, int]:
        return self._positions

    def poll(self, timeout: float) -> PolledRecords:
        process = self._client
        try:
            answer = process.call("poll", Poll, timeout_ms=round(timeout * 1000), limit=timeout)
        except Refusal as error:
            if not error.retriable:
                self._reopen(process)
            time.sleep(min(PAUSE, timeout))
            return PolledRecords()
        for end in answer.ends:
            self._ends[end.log] = ReportedEnd(end.node, asked=end.asked, offset=end.offset)
        polled = PolledRecords(each.batch() for each in answer.records)
        for batch in polled.batches:
            log = batch.log
            if log not in self._wanted:
                raise process.fail(f"returned a record of {log[0]}-{log[1]}, which is not polled")
            self._positions[log] = batch.offsets[-1] + 1
            self._refusals.pop(log, None)
            self._epochs[log] = max(batch.leader_epoch, self._epochs.get(log, -1))
        for position in answer.positions:
            # Past markers of transactions, which no poll returns: a log may end with them.
            if position.offset > self._positions.get(position.log, position.offset):
                self._positions[position.log] = position.offset
        for lost in answer.lost:
            self._note_lost(lost)
        if answer.lost and not polled:
            time.sleep(min(PAUSE, timeout))
        return polled

    def only(self, logs: tuple[Log, ...]) -> None:
        if unknown := sorted(set(logs) - set(self._positions)):
            raise ValueError(f"logs {unknown} are not assigned; these are: {sorted(self._positions)}")
        if self._wanted != frozenset(logs):
            self._wanted = frozenset(logs)
            self._select()

    def lost(self) -> list[LostPosition]:
        truncated, self._truncated = self._truncated, []
        refused = [log for log, count in self._refusals.items() if count >= REFUSALS]
        return truncated + [LostPosition(log, self._positions[log]) for log in refused]

    def seek(self, log: Log, offset: int) -> None:
        process = self._client
        try:
            process.call("seek", topic=log[0], partition=log[1], offset=offset)
        except Refusal as error:
            raise process.fail(f"refused to seek {log[0]}-{log[1]} to {offset}: {error}") from None
        self._positions[log] = offset
        self._refusals.pop(log, None)
        self._assignment += 1

    def leader_epoch(self, log: Log) -> int:
        return self._epochs.get(log, -1)

    def reported_end(self, log: Log, *, since: int) -> ReportedEnd | None:
        end = self._ends.get(log)
        return end if end is not None and end.asked >= since else None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _close(process)
            self._release(process)

    @property
    def _client(self) -> ClientProcess:
        assert self._process is not None, "used after close"
        return self._process

    def _note_lost(self, lost: Lost) -> None:
        log = lost.log
        if log not in self._positions:
            return
        position = self._positions[log]
        if lost.divergence is None:
            self._refusals[log] += 1
            return
        # The records read beyond the divergence are gone. Read the ones that replaced them.
        target = min(position, lost.divergence)
        self._truncated.append(LostPosition(log, position, target))
        self.seek(log, target)

    def _select(self) -> None:
        process = self._client
        try:
            process.call("only", logs=messages.logs(sorted(self._wanted)))
        except Refusal as error:
            raise process.fail(
                f"refused to poll {len(self._wanted)} of its partitions only: {error}"
            ) from None

    def _open(self, process: ClientProcess) -> None:
        process.call(
            "open", role="consumer", config=self._config, start=messages.offsets(self._positions), limit=3.0
        )

    def _reopen(self, process: ClientProcess) -> None:
        """Go on with another consumer at the same positions."""
        _close(process)
        try:
            self._open(process)
        except Refusal as error:
            raise process.fail(f"could not open its consumer again: {error}") from None
        self._assignment += 1
        self._select()


def _close(process: ClientProcess) -> None:
    try:
        process.call("close", timeout_ms=round(CLOSE_LIMIT * 1000), limit=CLOSE_LIMIT)
    except Refusal as error:
        raise process.fail(f"could not close its consumer: {error}") from None
