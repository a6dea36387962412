"""What a copier sends, commits and records: in each way in which a transaction, a send or a commit can end."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker_context import worker_context
from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Completion, Ending, Log, MemberEvent, Polled, PolledRecords
from workloads.history.schema import TABLES
from workloads.history.segments import read, segments
from workloads.payload import encode, source_of
from workloads.roles import copier

SOURCE = ("source-r", 0)
OK = Ending("ok")


class FakeMember:
    """Polls two batches, of which the second one has a record of another run. `did`: what it was asked."""

    id, generation, membership, assignment = "m", 2, "metadata", 0

    def __init__(self, stop: Callable[[], None], did: list[Any], commits: deque[Ending]) -> None:
        self._stop, self._did, self._commits = stop, did, commits
        payloads = [encode("r", *SOURCE, 7), encode("r", *SOURCE, 8), b"foreign"]
        records = [Polled(SOURCE, offset, 0, payload) for offset, payload in enumerate(payloads, start=4)]
        self._polls = deque([PolledRecords.of(records)])
        self.positions = {SOURCE: 7}

    def poll(self, _: float) -> PolledRecords:
        if not self._polls:
            self._stop()
            return PolledRecords()
        self._did.append("poll")
        return self._polls.popleft()

    def events(self) -> list[MemberEvent]:
        return []

    def commit(self, positions: Mapping[Log, int], _: float) -> Ending:
        self._did.append(("commit", dict(positions)))
        return self._commits.popleft() if self._commits else OK

    def close(self) -> None:
        self._did.append("leave")


class FakeProducer:
    """A plain and a transactional one. What it was asked is in `did`."""

    producer_id, epoch, in_flight = 7, 3, 0

    def __init__(self, did: list[Any], sends: str, positions: Ending, end: Ending) -> None:
        self.did, self._sends, self._positions, self._end = did, sends, positions, end
        self._ended: list[Completion] = []

    def begin(self) -> None:
        self.did.append("begin")

    def send(self, op: int, log: Log, payload: bytes, _keyed: Any = None) -> None:
        self.did.append(("send", log[0], source_of(payload)))
        outcome = Outcome(self._sends, 5 if self._sends == "ok" else None, None)  # type: ignore[arg-type]
        self._ended.append(Completion(op, time.monotonic_ns(), outcome))

    def take(self, _: float) -> list[Completion]:
        taken, self._ended = self._ended, []
        return taken

    def add_positions(self, positions: Mapping[Log, int], membership: Any, _: float) -> Ending:
        self.did.append(("positions", dict(positions), membership))
        return self._positions

    def end(self, outcome: str, _: float) -> Ending:
        self.did.append(outcome)
        return self._end

    def problem(self) -> None: ...

    def leader_epoch(self, _: Log) -> int:
        return -1

    def close(self, _: float) -> list[Completion]:
        self.did.append("close")
        return []


Copied = tuple[list[Any], list[dict[str, Any]], list[dict[str, Any]]]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Copied]:
    """What the copier did until it had polled all, its sends, and its commits."""

    def run(
        guarantee: str,
        *,
        sends: str = "ok",
        positions: Ending = OK,
        end: Ending = OK,
        commits: tuple[Ending, ...] = (),
        batch: int = 2,
    ) -> Copied:
        did: list[Any] = []
        context = worker_context(
            tmp_path,
            "copier",
            {
                "source": "source", "output": "output", "group": "copiers", "guarantee": guarantee, "batch": batch,
                "work": 0, "id": 0, "timeout": 1, "record_size": 0, "client": {}, "acks": "all", "idempotence": True,
                "member": {"committed": True, "auto_offset_reset": "earliest", "instance": None},
            },
            topics={"source-r": 1, "output-r": 2},
        )  # fmt: skip
        context.go.set()

        def member(*, group: str, topics: tuple[str, ...], settings: Any) -> FakeMember:  # noqa: ARG001
            assert (group, topics) == ("copiers-r", ("source-r",))
            return FakeMember(context.stop.set, did, deque(commits))

        def producer(*_: Any, **__: Any) -> FakeProducer:
            return FakeProducer(did, sends, positions, end)

        monkeypatch.setattr(context, "member", member)
        monkeypatch.setattr(context, "producer", producer)
        monkeypatch.setattr(context, "transactional", producer)
        if {sends, positions.type, end.type, *(each.type for each in commits)} != {"ok"}:
            # After the first failure: it would poll the same again for ever.
            monkeypatch.setattr(
                copier.Membership, "leave", lambda _, **__: (did.append("leave"), context.stop.set())
            )
        copier.copy(context)
        context.close()
        found = [
            row
            for table in ("records", "operations")
            for path in segments(tmp_path / "history", table)
            for row in read(path, TABLES[table]).to_pylist()
            if row["type"] != "invoke"
        ]
        indices = [row["index"] for row in found if "index" in row]
        assert len(set(indices)) == len([row for row in found if row["f"] == "poll"]) + len(
            [row for row in found if row["f"] == "send"]
        )
        return (
            did,
            [row for row in found if row["f"] == "send"],
            [row for row in found if row["f"] == "commit"],
        )

    return run


def test_copies_and_positions_are_in_one_transaction(copied: Callable[..., Copied]) -> None:
    did, sends, commits = copied("exactly-once")
    first = [("send", "output-r", 7), ("send", "output-r", 8), ("positions", {SOURCE: 6}, "metadata")]
    second = [("positions", {SOURCE: 7}, "metadata")]
    assert did == ["poll", "begin", *first, "commit", "begin", *second, "commit", "leave", "close"]
    assert [(row["type"], row["source"]) for row in sends] == [("ok", 7), ("ok", 8)]
    (transaction,) = {row["transaction"] for row in sends}
    assert [(row["type"], row["end_offset"], row["generation"]) for row in commits] == [
        ("ok", 6, 2),
        ("ok", 7, 2),
    ]
    assert json.loads(commits[0]["value"]) == {"member": "m", "transaction": transaction}


@pytest.mark.parametrize(
    ("values", "ends", "committed"),
    [
        # Its producer is dropped, so that the coordinator aborts the transaction.
        ({"positions": Ending("fail", "IllegalGeneration")}, "fail", ["fail"]),
        ({"positions": Ending("info", "_TIMED_OUT")}, "fail", ["fail"]),
        ({"end": Ending("fail", "ProducerFenced")}, "fail", ["fail"]),
        ({"end": Ending("info", "no answer")}, "info", ["info"]),
        ({"sends": "fail"}, "fail", []),
    ],
)
def test_a_transaction_that_is_not_committed(
    copied: Callable[..., Copied], values: dict[str, Any], ends: str, committed: list[str]
) -> None:
    did, sends, commits = copied("exactly-once", **values)
    assert {row["type"] for row in sends} == {ends}
    assert [row["type"] for row in commits][:1] == committed
    assert did.index("leave") > did.index("begin"), "it goes on from the committed positions"


def test_at_least_once_commits_after_the_copies(copied: Callable[..., Copied]) -> None:
    did, sends, commits = copied("at-least-once")
    first = [("send", "output-r", 7), ("send", "output-r", 8), ("commit", {SOURCE: 6})]
    assert did == ["poll", *first, ("commit", {SOURCE: 7}), "leave", "close"]
    assert [(row["type"], row["source"], row["transaction"]) for row in sends] == [
        ("ok", 7, None),
        ("ok", 8, None),
    ]
    assert [row["type"] for row in commits] == ["ok", "ok"]


def test_at_least_once_commits_nothing_after_a_failed_copy(copied: Callable[..., Copied]) -> None:
    did, _, commits = copied("at-least-once", sends="fail")
    assert did[-2:] == ["leave", "close"]
    assert commits == []


def test_at_most_once_commits_before_the_copies(copied: Callable[..., Copied]) -> None:
    did, sends, _ = copied("at-most-once", batch=3)
    assert did[:3] == ["poll", ("commit", {SOURCE: 7}), ("send", "output-r", 7)]
    assert [row["source"] for row in sends] == [7, 8]


def test_at_most_once_copies_nothing_after_a_failed_commit(copied: Callable[..., Copied]) -> None:
    did, sends, commits = copied("at-most-once", commits=(Ending("fail", "CommitFailed"),))
    assert [row["type"] for row in commits] == ["fail"]
    assert (did[2], sends) == ("leave", [])


def test_copies_of_one_partition_go_to_all_partitions() -> None:
    """A producer sends its values to the partitions of the source in turn."""
    logs = [("o", 0), ("o", 1), ("o", 2)]
    assert {copier.target(logs, value) for value in range(0, 30, 3)} == set(logs)
