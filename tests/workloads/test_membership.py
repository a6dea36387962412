"""What a member of a group records: assignments before polls, polls before commits, its end."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker_context import rows_on_disk, worker_context
from workloads.clients.protocol import CommitReport, Ending, Log, MemberEvent, Polled, PolledRecords
from workloads.payload import encode
from workloads.roles.context import WorkerContext
from workloads.roles.member import Membership

LOG = ("t", 0)


class FakeMember:
    """Polls and ends commits as scripted. `sent`: what each commit found on disk."""

    id, membership, assignment = "m", None, 3

    def __init__(self, home: Path) -> None:
        self.home = home
        self.generation: int | None = 2
        self.positions: dict[Log, int] = {}
        self.polls: deque[PolledRecords] = deque()
        self.told: list[MemberEvent] = []
        self.endings: deque[Ending] = deque()
        self.sent: list[tuple[dict[Log, int], int, int]] = []
        self.allowed: list[tuple[dict[Log, int], int, int]] = []
        """The positions that each `allow_commits` permitted, and what it found on disk."""
        self.reports: list[CommitReport] = []

    def poll(self, timeout: float) -> PolledRecords:  # noqa: ARG002 - as the protocol's
        polled = self.polls.popleft() if self.polls else []
        self.positions |= {each.log: each.offset + 1 for each in polled}
        return polled

    def events(self) -> list[MemberEvent]:
        told, self.told = self.told, []
        return told

    def commit(self, positions: Mapping[Log, int], limit: float) -> Ending:
        assert limit > 0
        found = len(rows(self.home, "records")), len(rows(self.home, "operations"))
        self.sent.append((dict(positions), *found))
        return self.endings.popleft() if self.endings else Ending("ok")

    def allow_commits(self) -> None:
        found = len(rows(self.home, "records")), len(rows(self.home, "operations"))
        self.allowed.append((dict(self.positions), *found))

    def commit_reports(self) -> list[CommitReport]:
        reports, self.reports = self.reports, []
        return reports

    def close(self) -> None:
        self.told.append(MemberEvent("revoked", LOG, 90, 2))
        self.positions = {}


def rows(home: Path, table: str) -> list[dict[str, Any]]:
    return [row for row in rows_on_disk(home, table) if row["f"] in ("poll", "member", "commit")]


@pytest.fixture
def context(tmp_path: Path) -> Iterator[WorkerContext]:
    settings = {"committed": False, "auto_offset_reset": "earliest", "instance": "i-1"}
    context = worker_context(tmp_path, "member", {"group": "g", "member": settings}, topics={"t": 1})
    yield context
    context.close()


@pytest.fixture
def member(context: WorkerContext, monkeypatch: pytest.MonkeyPatch) -> FakeMember:
    made = FakeMember(context.home)

    def create(*, group: str, topics: tuple[str, ...], settings: Mapping[str, Any]) -> FakeMember:
        assert (group, topics, settings["instance"]) == ("g-r", ("t",), "i-1")
        return made

    monkeypatch.setattr(context, "member", create)
    return made


def polled(*offsets: int) -> PolledRecords:
    return PolledRecords.of(Polled(LOG, offset, 0, encode("r", *LOG, offset, size=0)) for offset in offsets)


def assigned(start: int) -> MemberEvent:
    return MemberEvent("assigned", LOG, 10, 2, start)


def events(home: Path) -> list[tuple[Any, ...]]:
    return [
        (
            json.loads(row["value"])["event"],
            row["partition"],
            row["start_offset"],
            row["generation"],
            row["group"],
        )
        for row in rows(home, "operations")
        if row["f"] == "member"
    ]


def test_polls_and_assignments_are_on_disk_before_a_commit_is_sent(
    context: WorkerContext, member: FakeMember
) -> None:
    membership = Membership(context)
    member.told, member.polls = [assigned(5)], deque([polled(5, 6)])
    membership.poll(0.1)
    membership.commit()
    assert member.sent == [({LOG: 7}, 2, 2)]
    context.flush()
    assert events(context.home) == [("joined", None, None, 2, "g-r"), ("assigned", 0, 5, 2, "g-r")]
    (commit,) = [row for row in rows(context.home, "operations") if row["f"] == "commit"]
    assert (commit["type"], commit["end_offset"], commit["generation"], commit["group"]) == (
        "ok",
        7,
        2,
        "g-r",
    )
    assert {(row["generation"], row["assignment"]) for row in rows(context.home, "records")} == {(2, 3)}
    values = [json.loads(row["value"]) for row in rows(context.home, "operations")]
    assert values[1] == {
        "event": "assigned",
        "member": "m",
        "auto_offset_reset": "earliest",
        "instance": "i-1",
    }


def test_only_positions_that_moved_are_committed(context: WorkerContext, member: FakeMember) -> None:
    membership = Membership(context)
    member.told, member.positions = [assigned(5)], {LOG: 5}
    membership.poll(0.1)
    membership.commit()
    assert member.sent == []
    member.polls.append(polled(5))
    membership.poll(0.1)
    membership.commit()
    membership.commit()
    assert [each[0] for each in member.sent] == [{LOG: 6}]


@pytest.mark.parametrize("type_", ["fail", "info"])
def test_a_commit_that_was_not_acknowledged_is_tried_again(
    context: WorkerContext, member: FakeMember, type_: Any
) -> None:
    membership = Membership(context)
    member.told, member.polls = [assigned(5)], deque([polled(5)])
    member.endings.append(Ending(type_, "Refused"))
    membership.poll(0.1)
    membership.commit()
    membership.poll(0.1)
    membership.commit()
    assert [each[0] for each in member.sent] == [{LOG: 6}, {LOG: 6}]
    context.flush()
    commits = [row for row in rows(context.home, "operations") if row["f"] == "commit"]
    assert [(row["type"], row["error"]) for row in commits] == [(type_, "Refused"), ("ok", None)]
    assert len({row["op"] for row in commits}) == 2


def test_nothing_is_committed_before_a_generation_is_known(
    context: WorkerContext, member: FakeMember
) -> None:
    member.generation, member.positions = None, {LOG: 9}
    membership = Membership(context)
    membership.poll(0.1)
    membership.commit()
    assert member.sent == []
    membership.leave()
    context.flush()
    assert [each[0] for each in events(context.home)] == ["revoked"]


def test_a_member_that_leaves_commits_first(context: WorkerContext, member: FakeMember) -> None:
    membership = Membership(context)
    member.told, member.polls = [assigned(0)], deque([polled(0)])
    membership.poll(0.1)
    membership.leave()
    membership.leave()
    context.flush()
    assert [each[0] for each in member.sent] == [{LOG: 1}]
    assert [each[0] for each in events(context.home)] == ["joined", "assigned", "revoked", "left"]
    assert context.counts["joins"] == 1


def test_assignments_of_one_process_have_different_numbers(
    context: WorkerContext, member: FakeMember
) -> None:
    """A static member that joins again has the same generation."""
    membership = Membership(context)
    for _ in range(2):
        member.polls.append(polled(0))
        membership.poll(0.1)
        membership.leave()
    context.flush()
    assert [row["assignment"] for row in rows(context.home, "records")] == [3, 7]


def test_a_library_without_a_broker_is_asked_again(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(*, group: str, topics: tuple[str, ...], settings: Mapping[str, Any]) -> None:  # noqa: ARG001 - as the context's
        asked.append(group)
        raise ConnectionError

    monkeypatch.setattr(context, "member", refuse)
    membership = Membership(context)
    membership.poll(0.01)
    membership.poll(0.01)
    membership.commit()
    membership.leave()
    assert asked == ["g-r", "g-r"]


def test_a_group_is_known_before_it_joins(context: WorkerContext, member: FakeMember) -> None:
    """Otherwise nothing would tell that it did nothing."""
    assert member.sent == []
    Membership(context)
    context.flush()
    found = rows_on_disk(context.home)
    assert [(row["f"], row["type"], row["group"], row["topic"], row["partition"]) for row in found] == [
        ("subscribe", "ok", "g-r", "t", None)
    ]


@pytest.mark.parametrize("kind", ["auto", "revoked"])
def test_commits_within_polls_cover_what_is_on_disk(
    context: WorkerContext, member: FakeMember, kind: str
) -> None:
    context.options["member"]["commits_in_poll"] = kind
    membership = Membership(context)
    member.told, member.polls = [assigned(5)], deque([polled(5, 6)])
    membership.poll(0.1)
    assert member.allowed == [({LOG: 7}, 2, 2)]
    membership.commit()
    assert [each[0] for each in member.sent] == ([] if kind == "auto" else [{LOG: 7}])
    member.reports = [
        CommitReport({LOG: 7}, Ending("ok"), 20, 30, None),
        CommitReport({LOG: 7}, Ending("info", "Refused"), 40, 50, 2),
    ]
    membership.poll(0.1)
    member.reports = [CommitReport({LOG: 7}, Ending("info", "no answer"), 60, None, 2)]
    membership.leave()
    context.flush()
    commits = [
        row
        for row in rows(context.home, "operations")
        if row["f"] == "commit" and json.loads(row["value"]) == {"member": "m", kind: True}
    ]
    assert [
        (row["type"], row["error"], row["invoked"], row["completed"], row["generation"], row["end_offset"])
        for row in commits
    ] == [
        ("ok", None, 20, 30, None, 7),
        ("info", "Refused", 40, 50, 2, 7),
        ("info", "no answer", 60, None, 2, 7),
    ]
    assert len({row["op"] for row in commits}) == 3


def test_nothing_is_permitted_by_default(context: WorkerContext, member: FakeMember) -> None:
    membership = Membership(context)
    member.told, member.polls = [assigned(5)], deque([polled(5, 6)])
    membership.poll(0.1)
    assert member.allowed == []
