"""An administrator deletes records: what it asks for is on disk before the request, and its answer after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.worker_context import rows_on_disk, worker_context
from workloads.clients.connection import Address
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, LATEST
from workloads.roles import administrator
from workloads.roles.administrator import Administrator, Deletions
from workloads.roles.context import WorkerContext

LOG = ("t", 1)

BROKERS = {1: Address("one", 9), 2: Address("two", 9)}


class FakeLeaders:
    """The ends of a log, from a leader that may be unknown."""

    def __init__(self, start: int, end: int, leader: int | None = 2) -> None:
        self.start, self.end, self.of = start, end, leader

    def offset(self, log: Log, *, at: int = LATEST, limit: float) -> int:
        assert (log, limit) == (LOG, administrator.OFFSET_LIMIT)
        if self.end < 0:
            raise TimeoutError
        return self.start if at == EARLIEST else self.end

    def leader(self, _: Log) -> int | None:
        return self.of


@pytest.fixture
def context(tmp_path: Path) -> Iterator[WorkerContext]:
    context = worker_context(
        tmp_path, "administrator", {"owns_main": True, "deleted_share": 0.3}, topics={"t": 2}, brokers=BROKERS
    )
    yield context
    context.close()


Answer = Callable[[Address, Any], Any]


def answers(code: int, low_watermark: int = -1) -> Answer:
    partition = SimpleNamespace(error_code=code, low_watermark=low_watermark)
    return lambda _address, _request: SimpleNamespace(topics=[SimpleNamespace(partitions=[partition])])


def does_not_answer(address: Address, _request: Any) -> Any:
    raise TimeoutError(f"no answer from {address}")


def delete(
    context: WorkerContext,
    leaders: FakeLeaders,
    answer: Answer,
    monkeypatch: pytest.MonkeyPatch,
    share: float = 0.3,
) -> list[dict[str, Any]]:
    """All requests, each with the rows that were on disk when it was sent."""
    sent = []

    def ask(address: Address, request: Any, *, timeout: float) -> Any:
        assert timeout == administrator.TIMEOUT
        sent.append({"address": address, "request": request, "rows": rows_on_disk(context.home)})
        return answer(address, request)

    monkeypatch.setattr(administrator, "ask", ask)
    Deletions(context, leaders).delete(LOG, share)  # type: ignore[arg-type]
    return sent


def test_the_request_is_on_disk_before_it_is_sent_to_the_leader(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sent,) = delete(context, FakeLeaders(10, 110), answers(0, 40), monkeypatch)
    (row,) = sent["rows"]
    asked = {
        "f": "deletion",
        "topic": "t",
        "partition": 1,
        "start_offset": 10,
        "end_offset": 40,
        "process": 4,
    }
    assert {name: row[name] for name in asked} == asked
    assert (row["type"], row["completed"]) == ("info", None)
    assert sent["address"] == BROKERS[2]
    (topic,) = sent["request"].topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.offset) == ("t", 1, 40)
    assert sent["request"].timeout_ms < administrator.TIMEOUT * 1000


@pytest.mark.parametrize(
    ("answer", "kind", "error", "value"),
    [
        (answers(0, 41), "ok", None, {"node": 2, "low_watermark": 41}),
        (answers(1), "fail", "OffsetOutOfRangeError", {"node": 2}),
        (answers(29), "fail", "TopicAuthorizationFailedError", {"node": 2}),
        (answers(3), "info", "UnknownTopicOrPartitionError", {"node": 2}),
        (answers(6), "info", "NotLeaderForPartitionError", {"node": 2}),
        (answers(7), "info", "RequestTimedOutError", {"node": 2}),
        (does_not_answer, "info", "TimeoutError", {"node": 2}),
    ],
)
def test_the_answer_is_a_row_of_the_same_operation(
    context: WorkerContext,
    monkeypatch: pytest.MonkeyPatch,
    answer: Answer,
    kind: str,
    error: str | None,
    value: dict[str, int],
) -> None:
    delete(context, FakeLeaders(10, 110), answer, monkeypatch)
    request, row = rows_on_disk(context.home)
    assert (row["type"], row["error"], json.loads(row["value"])) == (kind, error, value)
    same = ("op", "process", "topic", "partition", "start_offset", "end_offset", "invoked")
    assert [row[name] for name in same] == [request[name] for name in same]
    assert row["completed"] >= row["invoked"]
    assert context.counts["deletions" if kind == "ok" else f"deletions {kind}"] == 1


@pytest.mark.parametrize(
    "leaders", [FakeLeaders(10, 13), FakeLeaders(0, -1), FakeLeaders(10, 110, leader=None)],
    ids=["too few records", "no ends", "no leader"],
)  # fmt: skip
def test_nothing_is_asked_for_without_a_leader_or_records(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch, leaders: FakeLeaders
) -> None:
    assert delete(context, leaders, answers(0, 1), monkeypatch) == []
    assert rows_on_disk(context.home) == []


def test_the_owner_of_the_main_topic_deletes_from_the_partitions_that_its_clients_use(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administrator, "ask", lambda address, request, **_: does_not_answer(address, request))
    context.options |= {"side_topics": 2, "replication_factor": 1}
    asked: list[tuple[Log, float]] = []
    monkeypatch.setattr(Deletions, "delete", lambda _, log, share: asked.append((log, share)))
    owner = Administrator(context)
    owner._main_partitions = 5
    for _ in range(300):
        owner.change()
    assert {*asked} == {(("t", 0), 0.3), (("t", 1), 0.3)}
    asked.clear()
    context.options["deleted_share"] = 0
    for _ in range(300):
        owner.change()
    assert not asked
