"""Queue: its workers, the values that it refuses, and what its consumers and its auditor record."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.worker_context import rows_on_disk
from workloads.clients.command.messages import Error, Refusal
from workloads.clients.command.share import CommandShare
from workloads.clients.libraries.kafka_python import LIBRARY
from workloads.clients.protocol import Acknowledgement, Delivered, Ending, Log, ShareProgress
from workloads.conformance import check_workload
from workloads.history.writer import Writer
from workloads.payload import encode
from workloads.queue import Queue
from workloads.roles.share_group import QueueAudit, Sharing, consume

CLIENT = "command:./client"
SHARE = {"batch": 10, "lock": 2.0, "auto_offset_reset": "latest"}
LOG, OTHER, ADDED, EMPTY = (("queued-r", partition) for partition in range(4))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"consumers": 0}, "Queue.consumers=0: expected a whole number, 1 to 100"),
        ({"batch": 0}, "Queue.batch=0: expected a whole number, 1 to 10000"),
        ({"lock": 0.5}, "Queue.lock=0.5: expected seconds, 1 to 60"),
        ({"release": 2}, "Queue.release=2: expected a share, 0 to 1"),
        (
            {"release": 0.6, "reject": 0.6},
            "Queue.release=0.6 and Queue.reject=0.6: expected shares of at most 1",
        ),
        (
            {"library": "java", "client_version": "4.1.1"},
            "Queue.client_version='4.1.1': expected a release of kafka-clients from 4.2.0 on",
        ),
        (
            {"library": "kafka-python"},
            "Queue.library='kafka-python': it has no share groups; use library='java'",
        ),
        ({"library": "none"}, "Queue.library='none': expected one of"),
        ({"auto_offset_reset": "none"}, "Queue.auto_offset_reset='none': expected 'earliest' or 'latest'"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Queue(**{"library": CLIENT} | values)
    assert said in str(refused.value)


def test_it_is_stored_and_its_consumers_have_the_client() -> None:
    queue = Queue(library=CLIENT, consumers=2, producers=1)
    check_workload(queue)
    assert Queue.from_json(json.loads(json.dumps(queue.to_json()))) == queue
    workers = [(each.role.name, each.library, each.group) for each in queue.workers()]
    assert workers == [
        ("producer", "kafka-python", None), ("share-consumer", CLIENT, "queue"), ("share-consumer", CLIENT, "queue"),
        ("queue-auditor", CLIENT, None), ("probe", "kafka-python", None),
    ]  # fmt: skip
    assert [name for name, _ in queue.smaller()] == ["one consumer", "one partition"]


def test_releases_without_share_groups_are_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError, match=r"Queue needs Kafka 4\.2 or later"):
        Experiment(workload=Queue(library=CLIENT), cluster=ClusterSpec(version="4.1.1"), duration=1)
    Experiment(workload=Queue(library=CLIENT), cluster=ClusterSpec(version="4.2.1"), duration=1)


def test_other_libraries_have_no_share_groups() -> None:
    with pytest.raises(ValueError, match="kafka-python has no share groups"):
        LIBRARY.share(bootstrap=(), topics=(), group="g", settings={})


class FakeShare:
    """Returns one list of records for each poll, and sees what is on disk when it is asked to acknowledge."""

    lock = 2.0

    def __init__(self, home: Path, polls: Sequence[list[Delivered]], endings: Mapping[Log, Ending]) -> None:
        self._home, self._polls, self._endings = home, list(polls), endings
        self.acknowledged: list[list[Acknowledgement]] = []
        self.on_disk: list[list[tuple[str, str]]] = []
        self.reports: list[dict[Log, ShareProgress]] = []
        self.stop = threading.Event()
        self.is_closed = False

    def poll(self, timeout: float) -> list[Delivered]:  # noqa: ARG002 - as the protocol's
        if not self._polls:
            self.stop.set()
            return []
        return self._polls.pop(0)

    def acknowledge(self, records: Sequence[Acknowledgement], limit: float) -> Mapping[Log, Ending]:  # noqa: ARG002
        self.acknowledged.append(list(records))
        self.on_disk.append([(row["f"], row["type"]) for row in rows_on_disk(self._home)])
        return {each.log: self._endings.get(each.log, Ending("ok")) for each in records}

    def progress(self, limit: float) -> Mapping[Log, ShareProgress]:  # noqa: ARG002
        if not self.reports:
            raise ConnectionError("no coordinator")
        return self.reports.pop(0) if len(self.reports) > 1 else self.reports[0]

    def close(self) -> None:
        self.is_closed = True


def delivered(log: Log, offset: int, deliveries: int | None = 1, payload: bytes | None = b"") -> Delivered:
    return Delivered(log, offset, encode("r", *log, 1000 + offset) if payload == b"" else payload, deliveries)


@pytest.fixture
def context_of(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    writer = Writer(tmp_path / "history", "operations", 5)
    numbers = count(1)

    def op(many: int = 1) -> int:
        first, *_ = (next(numbers) for _ in range(many))
        return first

    def make(fake: FakeShare, **options: Any) -> Any:
        return SimpleNamespace(
            run="r", process=5, session=None, topics={"queued-r": 2}, logs=(LOG, OTHER), brokers={1: None, 2: None},
            options={"group": "queue", "share": SHARE} | options, counts=Counter(), op=op,
            writer=lambda _: writer, share=lambda **_: fake, stop=fake.stop, gone=threading.Event(),
            ready=lambda: None, problems=[],
        )  # fmt: skip

    yield make
    writer.close()


def test_deliveries_and_requests_are_on_disk_before_the_broker_hears_of_them(
    tmp_path: Path, context_of: Callable[..., Any]
) -> None:
    fake = FakeShare(
        tmp_path,
        [[delivered(LOG, 7), delivered(OTHER, 3, 2)]],
        {OTHER: Ending("info", "INVALID_RECORD_STATE")},
    )
    context = context_of(fake)
    sharing = Sharing(context)
    taken = sharing.poll(0.1)
    sharing.acknowledge(taken, ["accept", "release"])
    assert fake.on_disk == [[("delivery", "ok")] * 2 + [("acknowledgement", "info")] * 2]
    context.writer("operations").flush()
    found = rows_on_disk(tmp_path)
    told = [
        (row["f"], row["type"], row["op"], row["partition"], row["start_offset"], row["error"])
        for row in found
    ]
    assert told == [
        ("delivery", "ok", 1, 0, 7, None), ("delivery", "ok", 2, 1, 3, None),
        ("acknowledgement", "info", 3, 0, 7, None), ("acknowledgement", "info", 4, 1, 3, None),
        ("acknowledgement", "ok", 3, 0, 7, None), ("acknowledgement", "info", 4, 1, 3, "INVALID_RECORD_STATE"),
    ]  # fmt: skip
    values = [json.loads(row["value"]) for row in found]
    assert [(each["value"], each["deliveries"]) for each in values[:2]] == [(1007, 1), (1003, 2)]
    assert values[2:] == [{"delivery": 1, "kind": "accept"}, {"delivery": 2, "kind": "release"}] * 2
    assert {row["group"] for row in found} == {"queue-r"}
    assert [row["completed"] is None for row in found] == [False, False, True, True, False, False]


def test_a_delivery_may_have_been_acquired_in_an_earlier_poll(
    tmp_path: Path, context_of: Callable[..., Any]
) -> None:
    """One for each broker, and one more."""
    fake = FakeShare(tmp_path, [[], [], [], [], [delivered(LOG, 7)]], {})
    context = context_of(fake)
    sharing = Sharing(context)
    for _ in range(5):
        sharing.poll(0)
    (row,) = rows_on_disk(tmp_path)
    assert json.loads(row["value"])["since"] < row["invoked"] < row["completed"]


def test_records_of_others_have_no_value(tmp_path: Path, context_of: Callable[..., Any]) -> None:
    fake = FakeShare(tmp_path, [[delivered(LOG, 7, payload=b"what"), delivered(LOG, 8, None)]], {})
    Sharing(context_of(fake)).poll(0)
    first, second = rows_on_disk(tmp_path)
    assert (json.loads(first["value"])["value"], first["error"]) == (None, "foreign")
    assert (json.loads(second["value"])["deliveries"], second["error"]) == (None, None)


def test_a_consumer_accepts_what_was_delivered_twice(tmp_path: Path, context_of: Callable[..., Any]) -> None:
    polls = [[delivered(LOG, offset, 1 + offset % 2) for offset in range(200)]] * 2
    fake = FakeShare(tmp_path, polls, {})
    consume(context_of(fake, release=0.5, reject=0.1, expire=0))
    said = Counter((each.offset % 2, each.type) for some in fake.acknowledged for each in some)
    assert min(said[0, "accept"], said[0, "release"], said[0, "reject"], said[1, "accept"]) > 0
    assert said[1, "release"] == 0
    assert fake.is_closed


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([{LOG: ShareProgress(10, None, 5), OTHER: ShareProgress(20, 0, 5), ADDED: ShareProgress(0, 0, 5)}],
         [(10, "ok"), (20, "ok"), (7, "ok")]),
        ([{LOG: ShareProgress(10, None, 5), OTHER: ShareProgress(20, 0, 5), EMPTY: None}],
         [(10, "ok"), (20, "ok"), (0, "ok")]),
        ([{LOG: ShareProgress(10, None, 5), OTHER: ShareProgress(20, 0, 5), ADDED: ShareProgress(2, 5, 5)}],
         [(10, "ok"), (20, "ok"), (2, "ok")]),
        ([{LOG: ShareProgress(10, None, 5), OTHER: ShareProgress(0, 0, 5)}], [(10, "ok"), (20, "ok")]),
        ([{LOG: ShareProgress(4, 3, 5)}, {LOG: ShareProgress(4, 0, 5), OTHER: ShareProgress(20, 0, 5)}],
         [(10, "ok"), (20, "ok")]),
        ([{LOG: ShareProgress(4, 3, 5), OTHER: ShareProgress(20, None, 5)}], [(4, "ok"), (20, "ok")]),
        ([{LOG: ShareProgress(10, 0, 5)}], [(10, "ok"), (None, "info")]),
        ([], [(None, "info"), (None, "info")]),
    ],
)  # fmt: skip
def test_the_auditor_accepts_what_is_left_and_records_the_end(
    tmp_path: Path,
    context_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    reports: Any,
    expected: Any,
) -> None:
    monkeypatch.setattr("workloads.roles.share_group.LEAST_LIMIT", -7.5)
    monkeypatch.setattr("workloads.roles.share_group.ASK_AGAIN", 0)
    ends = {LOG: 10, OTHER: 20, ADDED: 7, EMPTY: 0}
    leaders = SimpleNamespace(offset=lambda log, **_: ends[log], logs=(), refresh=lambda: None)
    known = {log for each in reports for log in each}
    leaders.refresh = lambda: vars(leaders).update(logs=(*(known & {ADDED, EMPTY}),))
    monkeypatch.setattr("workloads.roles.share_group.Leaders", lambda *_, **__: leaders)
    fake = FakeShare(tmp_path, [[], [delivered(LOG, 9, 3)]], {})
    fake.reports = [{log: each for log, each in some.items() if each is not None} for some in reports]
    context = context_of(fake)
    context.problem = context.problems.append
    QueueAudit(context).record()
    context.writer("operations").flush()
    assert [[each.type for each in some] for some in fake.acknowledged] in ([["accept"]], [])
    queues = [row for row in rows_on_disk(tmp_path) if row["f"] == "queue"]
    assert [(row["end_offset"], row["type"]) for row in queues] == expected
    assert {json.loads(row["value"])["policy"] for row in queues} == {"latest"}
    assert bool(context.problems) == any(type == "info" for _, type in expected)
    assert fake.is_closed


class FakeProcess:
    """Answers requests, in order, with what it is given: an answer or an error."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def call(self, do: str, form: Any = dict[str, Any], *, limit: float = 0.0, **fields: Any) -> Any:  # noqa: ARG002
        self.asked.append((do, fields))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return msgspec.convert(answer, form)


def command_share(process: FakeProcess) -> CommandShare:
    return CommandShare(
        lambda: process,  # type: ignore[arg-type,return-value]
        lambda _: None,
        config={"group.id": "g"},
        group_config={"share.auto.offset.reset": "earliest"},
        topics=("queued-r",),
    )


def test_errors_of_a_partition_are_unknown_outcomes() -> None:
    first = {"topic": "queued-r", "partition": 0}
    answers = {
        "partitions": [
            first,
            {"topic": "queued-r", "partition": 1, "error": {"name": "INVALID_RECORD_STATE"}},
        ]
    }
    polled = {"records": [first | {"offsets": [7], "values": ["eA=="], "deliveries": [2]}], "lock_ms": 1500}
    process = FakeProcess({}, polled, {}, answers)
    share = command_share(process)
    assert share.poll(0) == [Delivered(LOG, 7, b"x", 2)]
    assert share.lock == 1.5
    third = ("queued-r", 2)
    endings = share.acknowledge([Acknowledgement(log, 1, "accept") for log in (LOG, OTHER, third)], 5)
    assert {log: (each.type, each.error) for log, each in endings.items()} == {
        LOG: ("ok", None), OTHER: ("info", "INVALID_RECORD_STATE"),
        third: ("info", "the client reported no outcome for the partition"),
    }  # fmt: skip
    assert [do for do, _ in process.asked] == ["open", "poll", "acknowledge", "commit"]


def test_a_refused_acknowledgement_is_unknown_and_the_consumer_begins_anew() -> None:
    process = FakeProcess({}, {"records": []}, Refusal(Error("INVALID_STATE")), {}, {}, {"records": []})
    share = command_share(process)
    share.poll(0)
    assert share.acknowledge([Acknowledgement(LOG, 1, "accept")], 5) == {LOG: Ending("info", "INVALID_STATE")}
    assert share.acknowledge([Acknowledgement(LOG, 1, "accept")], 5)[LOG].type == "fail"
    assert share.poll(0) == []
    assert [do for do, _ in process.asked] == ["open", "poll", "acknowledge", "close", "open", "poll"]


def test_progress_is_asked_until_a_coordinator_answers() -> None:
    answer = {
        "partitions": [{"topic": "queued-r", "partition": 0, "start": 4, "lag": 0}],
        "delivery_limit": 5,
    }
    share = command_share(
        FakeProcess(Refusal(Error("REQUEST_TIMED_OUT")), {}, Refusal(Error("NOT_COORDINATOR")), answer)
    )
    for _ in range(2):
        with pytest.raises(ConnectionError):
            share.progress(1)
    assert share.progress(1) == {LOG: ShareProgress(4, 0, 5)}
