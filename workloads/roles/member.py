"""The member of a consumer group: polls, commits what it has polled, leaves and joins again."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workloads.clients.protocol import OUTSIDE, Ending, Log, Member, MemberEvent, PolledRecords
from workloads.recording import Commit, Commits
from workloads.roles.context import WorkerContext

POLL = 0.2
"""Seconds of one poll, and between two looks at whether a member that is away is to join again."""

COMMIT_LIMIT = 4.0
"""Seconds for one commit: a request without an answer is given up after 3 s, after a look-up of the coordinator."""


def consume(context: WorkerContext) -> None:
    """Poll and commit until `context.stop` is set. Options: number, members, rejoin, commit_interval (seconds between
    two commits; 0: after each poll) and those of `Membership`."""
    options = context.options
    attendance = Attendance(options["number"], options["members"], options["rejoin"])
    interval: float = options["commit_interval"]
    membership = Membership(context)
    context.ready()
    began = committed = time.monotonic()
    while not context.stop.is_set():
        if not attendance.is_present(time.monotonic() - began):
            membership.leave()
            context.stop.wait(POLL)
            continue
        membership.poll(POLL)
        if (now := time.monotonic()) - committed >= interval:
            membership.commit()
            committed = now
    membership.leave()


class Attendance(NamedTuple):
    """When the member `number` (from 0) of a group of `members` is there. `rejoin`: seconds for which it is away;
    None: never. The members leave in turn, so that at most one of them is away at a time.

    Time is divided into slots of that length. In the first one all are present, in the next one member 0 is away, and
    so on, over and over again.

    >>> [Attendance(number=1, members=2, rejoin=5).is_present(at) for at in (0, 5, 10, 15, 25)]
    [True, True, False, True, False]
    """

    number: int
    members: int
    rejoin: float | None

    def is_present(self, at: float) -> bool:
        """at: seconds since the member began."""
        return self.rejoin is None or at // self.rejoin % (self.members + 1) != self.number + 1


class Membership:
    """One client in one group, from its joining to its leaving, and again, with the rows that it records. The first
    of them say to which topics it subscribes. Options of the worker: group (its name in schedules), and member (the
    settings of `Library.member`).

    topics  to which it subscribes; None: all.
    """

    def __init__(self, context: WorkerContext, topics: tuple[str, ...] | None = None) -> None:
        self._context = context
        self._topics = tuple(context.topics) if topics is None else topics
        self._settings: dict[str, Any] = context.options["member"]
        self._commits_in_poll: str | None = self._settings.get("commits_in_poll")
        self._group = f"{context.options['group']}-{context.run}"
        self._records, self._operations = context.records(), context.writer("operations")
        self._member: Member | None = None
        self._joined = ""
        """The id with which it joined; empty while it is no member."""
        self._committed: dict[Log, int] = {}
        """The first offset of each of its partitions that is not known to be committed."""
        self._earlier_assignments = 0
        """Added to the numbers of a member: the next one of the same process counts from 0 again. A static member
        also has the generation of the one before, so that nothing else would tell its polls apart."""
        now = time.monotonic_ns()
        for topic in self._topics:
            self._operations.append(
                run=context.run, op=context.op(), process=context.process, f="subscribe", type="ok",
                invoked=now, completed=now, topic=topic, group=self._group, value="{}",
            )  # fmt: skip

    def poll(self, timeout: float) -> PolledRecords:
        """Poll once, and record what happened. It joins the group first, if it is not in it."""
        context = self._context
        if self._member is None:
            try:
                self._member = context.member(group=self._group, topics=self._topics, settings=self._settings)
            except OSError:
                context.stop.wait(timeout)
                return PolledRecords()
        member = self._member
        invoked = time.monotonic_ns()
        polled = member.poll(timeout)
        now = time.monotonic_ns()
        self._record_events(member)
        if polled:
            self._records.polled(
                context.op(),
                polled,
                invoked=invoked,
                completed=now,
                assignment=self._earlier_assignments + member.assignment,
                committed=self._settings["committed"],
                generation=member.generation,
            )
            context.counts["polled"] += len(polled)
        if self._commits_in_poll is not None:
            self._records.flush()
            self._operations.flush()
            member.allow_commits()
            self._record_reports(member)
        return polled

    @property
    def metadata(self) -> Any:
        """`Member.membership`; None if it is not in its group."""
        return None if self._member is None else self._member.membership

    def commit(self) -> None:
        """Commit the positions that have moved since the last commit that was acknowledged, unless the library makes
        automatic commits."""
        member = self._member
        if member is None or member.generation is None or self._commits_in_poll == "auto":
            return
        moved = {
            log: offset
            for log, offset in member.positions.items()
            if offset > self._committed.get(log, offset)
        }
        if moved:
            self.commit_positions(moved)

    def commit_positions(self, positions: Mapping[Log, int]) -> Ending:
        """Commit the next offset to read of each log."""
        member = self._member
        if member is None or member.generation is None:
            return Ending("fail", OUTSIDE)
        begun = self.begin_commit(positions)
        ending = member.commit(positions, COMMIT_LIMIT)
        self.end_commit(begun, ending)
        if ending.type == "ok":
            self._committed |= positions
        return ending

    def begin_commit(self, positions: Mapping[Log, int], transaction: int | None = None) -> list[Commit]:
        """Record that these positions are about to be committed; in a transaction, if its `op` is given."""
        assert self._member is not None
        return self._commits(self._member).begin(
            self._context.op(), positions, generation=self._member.generation, transaction=transaction
        )

    def end_commit(self, begun: Sequence[Commit], ending: Ending) -> None:
        """Record how it ended; in a transaction, how that ended."""
        assert self._member is not None
        self._commits(self._member).complete(
            begun, ending.type, completed=time.monotonic_ns(), error=ending.error
        )
        self._context.counts[f"commits {ending.type}"] += 1

    def leave(self, *, commits: bool = True) -> None:
        """Leave the group, if it is in it. commits: whether it commits its positions before."""
        if self._member is None:
            return
        if commits:
            self.commit()
        member, self._member = self._member, None
        invoked = time.monotonic_ns()
        member.close()
        self._earlier_assignments += member.assignment + 1
        self._record_events(member)
        self._record_reports(member)
        if self._joined:
            self._record("left", member, invoked, time.monotonic_ns())
        self._joined = ""

    def _commits(self, member: Member) -> Commits:
        return self._context.commits(group=self._group, member=member.id)

    def _record_reports(self, member: Member) -> None:
        """Of the commits that were sent within polls."""
        if self._commits_in_poll is None:
            return
        for report in member.commit_reports():
            self._commits(member).report(self._context.op(), report, self._commits_in_poll)
            self._context.counts[f"commits {report.ending.type}"] += 1

    def _record_events(self, member: Member) -> None:
        events = member.events()
        if member.id and member.id != self._joined and member.generation is not None:
            at = min((each.at for each in events), default=time.monotonic_ns())
            self._joined = member.id
            self._record("joined", member, at, at)
            self._context.counts["joins"] += 1
        for each in events:
            self._record_event(member, each)

    def _record_event(self, member: Member, event: MemberEvent) -> None:
        if event.event == "assigned":
            self._context.counts["assignments"] += 1
            if event.start is not None:
                self._committed[event.log] = event.start
        else:
            self._committed.pop(event.log, None)
        self._record(event.event, member, event.at, event.at, of=event)

    def _record(
        self, event: str, member: Member, invoked: int, completed: int, *, of: MemberEvent | None = None
    ) -> None:
        """Times in ns. of: the event of a partition; None for one of the member itself."""
        value = {"event": event, "member": self._joined or member.id}
        if event == "assigned":
            value["auto_offset_reset"] = self._settings["auto_offset_reset"]
            if self._settings["instance"] is not None:
                value["instance"] = self._settings["instance"]
        topic, partition = of.log if of is not None else (None, None)
        self._operations.append(
            run=self._context.run,
            op=self._context.op(),
            process=self._context.process,
            f="member",
            type="ok",
            invoked=invoked,
            completed=completed,
            topic=topic,
            partition=partition,
            start_offset=of.start if of is not None else None,
            value=json.dumps(value),
            group=self._group,
            generation=of.generation if of is not None else member.generation,
        )
