"""The workload of transactions, and what a transactor records of each way in which a transaction can end."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.worker_context import worker_context
from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Completion, Ending
from workloads.conformance import check_workload
from workloads.history.schema import TABLES
from workloads.history.segments import read
from workloads.roles import transactional_sending
from workloads.roles.transact import Transactor
from workloads.transactions import Transactions

OPTIONS = {
    "id": 0, "shared": False, "timeout": 0.01, "size": 3, "rate": None, "aborts": 0.0, "stalls": 0.0,
    "record_size": 0, "client": {},
}  # fmt: skip


ACKNOWLEDGED = Ending("ok")


class FakeProducer:
    """Ends sends and transactions as a test says. What it was asked is in `asked`."""

    producer_id, epoch, in_flight = 7, 3, 0

    def __init__(self, *, send: str | None = "ok", end: Ending = ACKNOWLEDGED, begins: bool = True) -> None:
        self.asked: list[str] = []
        self.closed = False
        self._send, self._end, self._begins = send, end, begins
        self._ended: list[Completion] = []
        self._open: list[int] = []

    def begin(self) -> None:
        self.asked.append("begin")
        if not self._begins:
            raise ConnectionError("it is fenced")

    def send(self, op: int, _log: Any, _payload: bytes, _keyed: Any = None) -> None:
        if self._send is None:
            self._open.append(op)
        else:
            outcome = Outcome(self._send, 5 if self._send == "ok" else None, None)  # type: ignore[arg-type]
            self._ended.append(Completion(op, time.monotonic_ns(), outcome))

    def take(self, _: float) -> list[Completion]:
        taken, self._ended = self._ended, []
        return taken

    def end(self, outcome: str, _: float) -> Ending:
        self.asked.append(outcome)
        return self._end

    def problem(self) -> str | None:
        return None

    def leader_epoch(self, _: Any) -> int:
        return -1

    def close(self, _: float) -> list[Completion]:
        self.closed = True
        return [Completion(op, time.monotonic_ns(), Outcome("info", None, "closed")) for op in self._open]


def rows(home: Path, table: str) -> list[dict[str, Any]]:
    files = sorted((home / "history" / "segments").glob(f"{table}-*.arrows"))
    return [row for file in files for row in read(file, TABLES[table]).to_pylist()]


@pytest.fixture
def carry_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """One transaction. Returns its row, the rows of its sends, and the context."""
    monkeypatch.setattr(transactional_sending, "SEND_LIMIT", 0.05)

    def run(producer: FakeProducer, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]], Any]:
        context = worker_context(tmp_path, "transactor", OPTIONS | options, topics={"t": 3}, run="r1")
        monkeypatch.setattr(context, "transactional", lambda *_, **__: producer)
        transactor = Transactor(context)
        transactor.transact()
        transactor.close()
        context.close()
        (transaction,) = [row for row in rows(tmp_path, "operations") if row["f"] == "txn"]
        return transaction, [row for row in rows(tmp_path, "records") if row["type"] != "invoke"], context

    return run


def test_a_committed_transaction(carry_out: Any, tmp_path: Path) -> None:
    producer = FakeProducer()
    transaction, sends, context = carry_out(producer)
    value = json.loads(transaction["value"])
    assert (transaction["type"], value["outcome"], value["epoch"]) == ("ok", "commit", 3)
    assert value["transactional_id"] == "transactor-0-r1"
    assert transaction["invoked"] <= value["ending"] <= transaction["completed"]
    assert {(each["type"], each["transaction"], each["offset"]) for each in sends} == {
        ("ok", transaction["op"], 5)
    }
    assert {each["completed"] for each in sends} == {transaction["completed"]}
    assert context.counts["acks"] == context.counts["sends"] == len(sends)
    (claim,) = [row for row in rows(tmp_path, "operations") if row["f"] == "init"]
    assert json.loads(claim["value"]) == {"transactional_id": "transactor-0-r1", "epoch": 3, "producer_id": 7}
    assert producer.asked == ["begin", "commit"]


def test_invocations_are_on_disk_before_the_first_send(carry_out: Any, tmp_path: Path) -> None:
    seen: list[int] = []

    class Looks(FakeProducer):
        def send(self, op: int, log: Any, payload: bytes, keyed: Any = None) -> None:
            files = (tmp_path / "history" / "segments").glob("records-*")
            seen.append(sum(read(file, TABLES["records"]).num_rows for file in files))
            super().send(op, log, payload, keyed)

    _, sends, _ = carry_out(Looks(), size=3)
    assert set(seen) == {len(sends)}


@pytest.mark.parametrize(
    ("producer", "options", "ends", "asked", "ending"),
    [
        (FakeProducer(), {"aborts": 1.0}, ("ok", "abort", "fail"), ["begin", "abort"], True),
        (FakeProducer(send="info"), {}, ("ok", "abort", "fail"), ["begin", "abort"], True),
        (FakeProducer(send="fail"), {}, ("ok", "abort", "fail"), ["begin", "abort"], True),
        (FakeProducer(send=None), {}, ("fail", "commit", "fail"), ["begin"], False),
        (FakeProducer(begins=False), {}, ("fail", "commit", "fail"), ["begin"], False),
        (FakeProducer(end=Ending("info", "X")), {}, ("info", "commit", "info"), ["begin", "commit"], True),
        (FakeProducer(end=Ending("fail", "X")), {}, ("fail", "commit", "fail"), ["begin", "commit"], True),
        (FakeProducer(end=Ending("info", "X")), {"aborts": 1.0}, ("fail", "abort", "fail"), ["begin", "abort"], True),
    ],
    ids=[
        "aborted", "a send is unknown", "a send failed", "sends do not end", "it cannot begin", "unknown commit",
        "refused commit", "unknown abort",
    ],
)  # fmt: skip
def test_how_a_transaction_ends(
    carry_out: Any, producer: Any, options: Any, ends: Any, asked: Any, ending: bool
) -> None:
    """ends: the types of the transaction and of its sends, and the outcome that was asked for or intended."""
    transaction, sends, context = carry_out(producer, **options)
    value = json.loads(transaction["value"])
    assert (transaction["type"], value["outcome"], *{each["type"] for each in sends}) == ends
    assert producer.asked == asked
    assert (value["ending"] is not None) == ending
    assert producer.closed
    assert context.counts["acks"] == 0


def test_a_stalled_transaction_waits_until_the_coordinator_has_aborted_it(carry_out: Any) -> None:
    transaction, _, _ = carry_out(FakeProducer(), stalls=1.0, timeout=0.2)
    assert json.loads(transaction["value"])["ending"] - transaction["invoked"] > 0.2e9


def test_workers_and_their_ids() -> None:
    workload = Transactions(transactors=2, rivals=1, readers=1, uncommitted_readers=1)
    check_workload(workload)
    assert Transactions.from_json(json.loads(json.dumps(workload.to_json()))) == workload
    options = [worker.options for worker in workload.workers() if worker.role.name == "transactor"]
    assert [(each["id"], each["shared"]) for each in options] == [(0, True), (1, False), (0, True)]
    readers = [worker.options["committed"] for worker in workload.workers() if worker.role.name == "reader"]
    assert readers == [True, False]
    assert [name for name, _ in workload.smaller()] == [
        "0 rivals", "1 transactors", "0 uncommitted_readers", "2 size",
    ]  # fmt: skip
    assert Transactions(transactors=1).aliases("r1") == {"transactor-0": "transactor-0-r1"}
    assert Counter(topic.partitions for topic in Transactions(topics_written=3).topics("r")) == {3: 3}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"transactors": 0}, "Transactions.transactors=0: expected a whole number, 1 to 100"),
        ({"aborts": 1.5}, "Transactions.aborts=1.5: expected a share, 0 to 1"),
        ({"timeout": 0}, "Transactions.timeout=0: expected seconds, 1 to 900"),
        ({"rate": -1}, "Transactions.rate=-1: expected records per second above 0"),
        ({"library": "other"}, "Transactions.library='other': expected one of"),
        ({"topic_config": {"min.insync.replicas": 4}}, "expected 1 to 3"),
        ({"assignment": {0: [1]}}, "Transactions.assignment={0: [1]}: expected partitions 0 to 2"),
        ({"auto_offset_reset": "none"}, "expected 'earliest' or 'latest'"),
        ({"client": {"transactional_id": "x"}}, "kafkacheck sets this itself"),
    ],
)
def test_wrong_values_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Transactions(**wrong)
    assert said in str(refused.value)
