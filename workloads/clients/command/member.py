"""A member of a consumer group by a client process, behind our protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from workloads.clients.command import messages
from workloads.clients.command.consumer import CLOSE_LIMIT, PAUSE
from workloads.clients.command.messages import Moved, Refusal
from workloads.clients.command.process import ClientProcess, Release
from workloads.clients.protocol import CommitReport, Ending, Log, MemberEvent, Polled


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

    def poll(self, timeout: float) -> list[Polled]:
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
                return []
        began = time.monotonic_ns()
        try:
            answer = process.call("poll", timeout_ms=round(timeout * 1000), limit=timeout)
        except Refusal as error:
            if not error.retriable:
                # Such as a fenced instance: it never gets its partitions back.
                self.close()
            time.sleep(min(PAUSE, timeout))
            return []
        self._note_moves(process, answer, began)
        polled, positions, id, generation = process.understood(
            "poll",
            lambda: (
                messages.parse_records(answer),
                messages.parse_positions(answer),
                messages.parse_text(answer, "member"),
                messages.parse_number(answer, "generation"),
            ),
        )
        self._id = id or self._id
        if generation is not None and generation >= 0 and id:
            self._generation = generation
        for each in polled:
            if each.log not in self._owned:
                raise process.fail(
                    f"returned a record of {each.log[0]}-{each.log[1]}, which is not assigned to its member"
                )
            self._positions[each.log] = each.offset + 1
        for log, position in positions.items():
            if log in self._owned:
                # Lower than before where auto.offset.reset has moved it.
                self._positions[log] = position
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
                "commit", offsets=messages.offsets(positions), timeout_ms=round(limit * 1000), limit=limit
            )
        except Refusal as error:
            return Ending("fail" if error.sent is False else "info", error.name)
        self._note_moves(self._process, answer, began)
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
            answer = process.call("close", timeout_ms=round(CLOSE_LIMIT * 1000), limit=CLOSE_LIMIT)
        except Refusal as error:
            raise process.fail(f"could not close its member: {error}") from None
        self._note_moves(process, answer, began)
        now = time.monotonic_ns()
        # A client need not say what it gives up by leaving.
        self._apply([MemberEvent("revoked", log, now, self._generation) for log in sorted(self._owned)])
        self._release(process)

    def _note_moves(self, process: ClientProcess, answer: Mapping[str, Any], began: int) -> None:
        now = time.monotonic_ns()
        moves = process.understood("poll", lambda: messages.parse_moves(answer))
        self._apply([self._event(move, began, now) for move in moves])

    def _event(self, move: Moved, began: int, now: int) -> MemberEvent:
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
