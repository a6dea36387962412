"""The workload of compacted topics, and which keys its writers update and delete."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker_context import worker_context
from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Completion, Log
from workloads.compacted import Compacted
from workloads.conformance import check_workload
from workloads.history.schema import TABLES
from workloads.history.segments import read
from workloads.keys import Keyed
from workloads.payload import decode
from workloads.roles.context import WorkerContext
from workloads.roles.producer import Keys, write_keys


def keys(**options: Any) -> Keys:
    values: dict[str, Any] = {
        "writer": 1,
        "writers": 2,
        "count": 3,
        "deletes": 0.5,
        "choice": random.Random(5),
    }
    return Keys(**values | options)


def test_writers_have_no_key_in_common() -> None:
    taken = [{one.take().key for _ in range(500)} for one in (keys(writer=0), keys())]
    assert not taken[0] & taken[1]
    assert {key % 2 for key in taken[1]} == {1}
    assert len(taken[1]) > 50, "deleted keys are replaced"


def test_half_of_the_deleted_keys_come_back() -> None:
    one = keys(count=20, deletes=0.2)
    sequence = [one.take() for _ in range(20_000)]
    deletes = [number for number, each in enumerate(sequence) if each.tombstone]
    assert 0.15 < len(deletes) / len(sequence) < 0.25
    last = {each.key: number for number, each in enumerate(sequence)}
    returned = sum(last[sequence[number].key] > number for number in deletes[:2000])
    assert 900 < returned < 1100


def test_without_deletes_the_keys_stay() -> None:
    one = keys(deletes=0.0)
    assert {one.take() for _ in range(200)} == {Keyed(1), Keyed(3), Keyed(5)}


class Acknowledging:
    """Acknowledges everything, and stops the worker after some sends."""

    in_flight = 0

    def __init__(self, context: WorkerContext, count: int) -> None:
        self.sent: list[tuple[Log, Any, Keyed]] = []
        self._context, self._count, self._ended = context, count, []

    def send(self, op: int, log: Log, payload: bytes, keyed: Keyed) -> None:
        self.sent.append((log, decode(payload, "r1", *log), keyed))
        self._ended.append(Completion(op, 0, Outcome("ok", len(self.sent), None)))
        if len(self.sent) >= self._count:
            self._context.stop.set()

    def take(self, _: float) -> list[Completion]:
        taken, self._ended = self._ended, []
        return taken

    def problem(self) -> None:
        return None

    def close(self, timeout: float) -> list[Completion]:
        return self.take(timeout)


@pytest.mark.parametrize("rate", [None, 5000])
def test_a_writer_records_what_it_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float | None
) -> None:
    (spec, *_) = Compacted(writers=1, keys=5, rate=rate, partitions=2).workers()
    context = worker_context(tmp_path, "writer", spec.options, topics={"t": 2}, run="r1")
    context.go.set()
    producer = Acknowledging(context, 300)
    monkeypatch.setattr(context, "producer", lambda **_: producer)
    write_keys(context)
    context.close()
    files = sorted((tmp_path / "history" / "segments").glob("records-*.arrows"))
    rows = [row for file in files for row in read(file, TABLES["records"]).to_pylist()]
    ended = [row for row in rows if row["type"] == "ok"]
    recorded = [
        ((row["topic"], row["partition"]), (row["value"], None), Keyed(row["key"], row["tombstone"]))
        for row in sorted(ended, key=lambda row: row["op"])
    ]
    assert recorded == producer.sent
    assert len(recorded) >= 300
    assert all(log == ("t", keyed.key % 2) for log, _, keyed in recorded), "a key is in one partition"
    assert {row["tombstone"] for row in rows} == {True, False}
    assert all((row["intended"] is None) == (rate is None) for row in rows)


def test_workers_and_settings() -> None:
    workload = Compacted(writers=2, readers=1, delete_retention=0.5, topic_config={"segment.ms": 200})
    check_workload(workload)
    assert Compacted.from_json(json.loads(json.dumps(workload.to_json()))) == workload
    assert Counter(worker.role.name for worker in workload.workers()) == {
        "writer": 2,
        "reader": 1,
        "probe": 1,
    }
    (topic,) = workload.topics("r1")
    assert topic.name == "compacted-r1"
    assert topic.config["cleanup.policy"] == "compact"
    assert (topic.config["delete.retention.ms"], topic.config["segment.ms"]) == ("500", "200")
    assert workload.requires == {"acks-after-faults", "compaction", "polls-to-the-end"}
    assert Compacted(readers=0).requires == {"acks-after-faults", "compaction"}
    assert not workload.allowed
    assert [name for name, _ in workload.smaller()] == ["0 readers", "1 writers", "1 keys"]
    assert workload.with_layout({0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}).topics("r")[0].assignment


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"writers": 0}, "Compacted.writers=0: expected a whole number, 1 to 100"),
        ({"keys": 0}, "Compacted.keys=0: expected a whole number, 1 to 1000000"),
        ({"deletes": 1.5}, "Compacted.deletes=1.5: expected a share, 0 to 1"),
        ({"delete_retention": -1}, "Compacted.delete_retention=-1: expected seconds, 0 to 3.1536e+07"),
        ({"rate": -1}, "Compacted.rate=-1: expected records per second above 0"),
        ({"topic_config": {"cleanup.policy": "delete"}}, "expected 'compact' or 'compact,delete'"),
        ({"topic_config": {"delete.retention.ms": 1}}, "use Compacted.delete_retention, in seconds"),
        ({"topic_config": {"min.insync.replicas": 4}}, "expected 1 to 3"),
        ({"library": "other"}, "Compacted.library='other': expected one of"),
        ({"assignment": {0: [1]}}, "Compacted.assignment={0: [1]}: expected partitions 0 to 2"),
        ({"client": {"transactional_id": "x"}}, "kafkacheck sets this itself"),
    ],
)
def test_wrong_values_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Compacted(**wrong)
    assert said in str(refused.value)
