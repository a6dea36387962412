"""A member of a consumer group by a client process, behind our protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from workloads.clients.command import messages
from workloads.clients.command.consumer import CLOSE_LIMIT, PAUSE
from workloads.clients.command.messages import Move, Moves, Poll, Refusal
from workloads.clients.command.process import ClientProcess, Release
from workloads.clients.protocol import CommitReport, Ending, Log, MemberEvent, PolledRecords


class CommandMember:
    """Implements `protocol.Member`. For one thread.

    process    gives the client that the member uses; asked again after it was closed.
    has_clock  whether the times of its events are of our clock. Without, a partition is taken for assigned when the
               answer arrives, and for given up when the request was made: two owners at a time are then never stated
               where there were none.
    """

    def __init__(
        self,
        process: Callable[[], ClientProcess],
        release: Release,
        *,
        config: Mapping[str, str],
        topics: tuple[str, ...],
        has_clock: bool,
    ) -> None:
        self._make, self._release = process, release
        self._config, self._topics, self._has_clock = dict(config), topics, has_clock
        self._id = ""
        self._generation: int | None = None
        self._assignment = 0
        self._owned: set[Log] = set()
        self._positions: dict[Log, int] = {}
        self._events: list[MemberEvent] = []
        self._process: ClientProcess | None = None
        self._opened = 0
        """ns."""

    @property
    def id(self) -> str:
        return self._id

    @property
    def membership(self) -> Any:
        """As it is sent with the offsets of a transaction: that of the last poll."""
        if self._process is None or self._generation is None:
            return None
        return {
            "group": self._config["group.id"],
            "member": self._id,
            "generation": self._generation,
            "instance": self._config.get("group.instance.id"),
        }

    @property
    def generation(self) -> int | None:
        return self._generation

    @property
    def assignment(self) -> int:
        return self._assignment

    @property
    def positions(self) -> Mapping[Log, int]:
        return self._positions

    def poll(self, timeout: float) -> PolledRecords:
        process = self._process
        if process is None:
            process = self._process = self._make()
            self._opened = time.monotonic_ns()
            try:
                process.call("open", role="member", config=self._config, topics=list(self._topics), limit=3.0)
            except Refusal as error:
                if error.name == "INVALID_CONFIG":
                    raise process.fail(f"refuses the settings of a member: {error}") from None
                self._process = None
                self._release(process)
                time.sleep(min(PAUSE, timeout))
                return PolledRecords()
        began = time.monotonic_ns()
        try:
            answer = process.call("poll", Poll, timeout_ms=round(timeout * 1000), limit=timeout)
        except Refusal as error:
            if not error.retriable:
                # Such as a fenced instance: it never gets its partitions back.
                self.close()
            time.sleep(min(PAUSE, timeout))
            return PolledRecords()
        self._note_moves(answer, began)
        self._id = answer.member or self._id
        if answer.generation is not None and answer.generation >= 0 and answer.member:
            self._generation = answer.generation
        polled = PolledRecords(each.batch() for each in answer.records)
        for batch in polled.batches:
            log = batch.log
            if log not in self._owned:
                raise process.fail(
                    f"returned a record of {log[0]}-{log[1]}, which is not assigned to its member"
                )
            self._positions[log] = batch.offsets[-1] + 1
        for position in answer.positions:
            if position.log in self._owned:
                # Lower than before where auto.offset.reset has moved it.
                self._positions[position.log] = position.offset
        return polled

    def events(self) -> list[MemberEvent]:
        events, self._events = self._events, []
        return events

    def commit(self, positions: Mapping[Log, int], limit: float) -> Ending:
        """An error is ``info`` unless the client knows that nothing was sent: libraries retry by themselves, and an
        earlier try may have been written."""
        if self._process is None:
            return Ending("fail", "the member has no client")
        began = time.monotonic_ns()
        try:
            answer = self._process.call(
                "commit",
                Moves,
                offsets=messages.offsets(positions),
                timeout_ms=round(limit * 1000),
                limit=limit,
            )
        except Refusal as refusal:
            return Ending("fail" if refusal.error.sent is False else "info", refusal.name)
        self._note_moves(answer, began)
        return Ending("ok")

    def allow_commits(self) -> None:
        raise ValueError("a client process commits nothing within a poll")

    def commit_reports(self) -> list[CommitReport]:
        return []

    def seek(self, log: Log, offset: int) -> None:
        if self._process is None or log not in self._owned:
            raise ValueError(f"log {log} is not assigned; these are: {sorted(self._owned)}")
        try:
            self._process.call("seek", topic=log[0], partition=log[1], offset=offset)
        except Refusal as error:
            raise self._process.fail(f"refused to seek {log[0]}-{log[1]} to {offset}: {error}") from None
        self._positions[log] = offset
        self._assignment += 1

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        began = time.monotonic_ns()
        try:
            answer = process.call("close", Moves, timeout_ms=round(CLOSE_LIMIT * 1000), limit=CLOSE_LIMIT)
        except Refusal as error:
            raise process.fail(f"could not close its member: {error}") from None
        self._note_moves(answer, began)
        now = time.monotonic_ns()
        # A client need not say what it gives up by leaving.
        self._apply([MemberEvent("revoked", log, now, self._generation) for log in sorted(self._owned)])
        self._release(process)

    def _note_moves(self, answer: Moves, began: int) -> None:
        now = time.monotonic_ns()
        self._apply([self._event(move, began, now) for move in answer.events])

    def _event(self, move: Move, began: int, now: int) -> MemberEvent:
        is_known = self._has_clock and move.at is not None and self._opened <= move.at <= now
        known = move.at if is_known else None
        generation = move.generation if move.generation is not None else self._generation
        if move.event == "assigned":
            return MemberEvent("assigned", move.log, known or now, generation, move.start)
        return MemberEvent(move.event, move.log, known or began, generation)

    def _apply(self, events: list[MemberEvent]) -> None:
        for each in events:
            if each.event == "assigned":
                self._assignment += 1
                self._owned.add(each.log)
                self._generation = each.generation
                if each.start is not None:
                    self._positions[each.log] = each.start
            else:
                self._owned.discard(each.log)
                self._positions.pop(each.log, None)
        self._events += events
