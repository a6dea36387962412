"""A test's own clients are recorded: both libraries against librdkafka's mock cluster, and by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import kafka
import pytest

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.recorder.clients import ClientRecorder
from pytest_kafkacheck.recorder.final_reads import read_finally
from pytest_kafkacheck.recorder.identity import header_of, token_in, value_token
from pytest_kafkacheck.recorder.line_log import LineLog
from pytest_kafkacheck.recorder.recorder import Recorder
from tests.support.mock_cluster import API_VERSION, MockCluster, mock_cluster
from workloads.clients.kafka_python.settings import access
from workloads.history.lines.imports import import_lines
from workloads.history.lines.parse import read_header, read_lines

Lines = list[dict[str, Any]]


class Recorded:
    """A recorder, and what it has written."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "history.jsonl"
        self.log = LineLog(self.file, run="r1")
        self.recorder = ClientRecorder(self.log, run="r1")

    def lines(self, f: str) -> Lines:
        """Of this kind, without the invocations."""
        return [row for row in self.all(f) if row["type"] != "invoke"]

    def all(self, f: str) -> Lines:
        """Of this kind; every line of the file must fit its kind."""
        self.log.close()
        rows = [json.loads(text) for text in self.file.read_text().splitlines()]
        assert len([*read_lines(self.file, read_header(self.file))]) == len(rows) - 1
        return [row for row in rows if row.get("f") == f]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    made = Recorded(tmp_path)
    yield made
    made.log.close()


@pytest.fixture
def mock() -> Iterator[MockCluster]:
    with mock_cluster() as cluster:
        cluster.create("orders")
        yield cluster


def servers(mock: MockCluster) -> str:
    return ",".join(map(str, mock.bootstrap))


def test_kafka_python_clients(mock: MockCluster, recorded: Recorded, tmp_path: Path) -> None:
    """Two records may have the same value, a record keeps its own headers, and records of others are left out."""
    recorder = recorded.recorder
    common = {**access(mock.bootstrap), "api_version": API_VERSION}
    plain = kafka.KafkaProducer(**common)
    plain.send("orders", b"of another program").get(30)
    producer = recorder.producer(kafka.KafkaProducer(**common), session="ann")
    futures = [producer.send("orders", b"same", headers=[("mine", b"1")]) for _ in range(2)]
    assert [future.get(30).offset for future in futures] == [1, 2]
    with pytest.raises(ValueError, match="key or value"):
        producer.send("orders", None, None)  # neither value nor key
    consumer = recorder.consumer(
        kafka.KafkaConsumer("orders", **common, auto_offset_reset="earliest", group_id=None), session="ann"
    )
    got: list[Any] = []
    while len(got) < 3:
        got += [record for records in consumer.poll(timeout_ms=200).values() for record in records]
    assert [dict(record.headers).get("mine") for record in got] == [None, b"1", b"1"]
    producer.close()
    consumer.close()
    plain.close()
    sends = recorded.lines("send")
    done = sorted(
        (row["offset"], row["partition"], row["process"], row["session"]) for row in sends if "offset" in row
    )
    assert done == [(1, 0, "producer 0", "ann"), (2, 0, "producer 0", "ann")]
    (refused,) = (row for row in sends if row["type"] == "fail")
    assert refused["error"].startswith("ValueError")
    polled = [record for row in recorded.lines("poll") for record in row["records"]]
    assert [(each["offset"], each["value"]) for each in polled] == [
        (row["offset"], row["value"]) for row in sends[:2]
    ]
    assert {row["committed"] for row in recorded.lines("poll")} == {False}
    assert import_lines(recorded.file, tmp_path / "home").run == "r1"


def test_confluent_kafka_clients(mock: MockCluster, recorded: Recorded) -> None:
    recorder, heard = recorded.recorder, []
    producer = recorder.producer(confluent_kafka.Producer({"bootstrap.servers": servers(mock)}))
    producer.produce("orders", b"same", headers={"mine": "1"}, on_delivery=lambda *pair: heard.append(pair))
    producer.produce("orders", b"same", key="k", partition=0)
    assert len(producer) == 2
    assert producer.flush(30) == 0
    assert [error for error, _ in heard] == [None]
    with pytest.raises(TypeError):
        producer.produce("orders", 5)
    settings = {
        "bootstrap.servers": servers(mock),
        "group.id": "g",
        "auto.offset.reset": "earliest",
    }
    consumer = recorder.consumer(confluent_kafka.Consumer(settings), committed=True)
    consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
    first = None
    while first is None:
        first = consumer.poll(0.2)
    assert ("mine", b"1") in first.headers()
    rest: list[Any] = []
    while not rest:
        rest = consumer.consume(5, timeout=0.2)
    consumer.close()
    sends = {row["type"]: row for row in recorded.lines("send")}
    assert sends["fail"]["error"].startswith("TypeError")
    assert [row["offset"] for row in recorded.lines("send") if row["type"] == "ok"] == [0, 1]
    assert sends["ok"]["key"] == recorder.begin_send("x", by="y", key=b"k").fields["key"], (
        "of text and of its bytes"
    )
    polls = recorded.lines("poll")
    assert [(row["committed"], row["assignment"], len(row["records"])) for row in polls] == [
        (True, 1, 1),
        (True, 1, 1),
    ]


@pytest.mark.parametrize("library", ["kafka-python", "confluent-kafka"])
def test_an_error_of_a_broker_leaves_the_outcome_unknown(
    mock: MockCluster, recorded: Recorded, library: str
) -> None:
    """A library reports the last error only: an earlier attempt may have reached the log."""
    mock.answer_with(0, *[87] * 50)  # INVALID_RECORD
    if library == "kafka-python":
        client = kafka.KafkaProducer(**access(mock.bootstrap), api_version=API_VERSION, retries=0)
        with pytest.raises(kafka.errors.KafkaError):
            recorded.recorder.producer(client).send("orders", b"x").get(30)
        client.close()
    else:
        producer = recorded.recorder.producer(confluent_kafka.Producer({"bootstrap.servers": servers(mock)}))
        producer.produce("orders", b"x")
        producer.flush(30)
    (sent,) = recorded.lines("send")
    assert (sent["type"], bool(sent["error"])) == ("info", True)


class FakeConsumer:
    """Of kafka-python: returns the batches that the test gives it."""

    def __init__(self, recorder: Recorder, *, group: str | None, reset: str, isolation: str) -> None:
        self.config = {"group_id": group, "auto_offset_reset": reset, "isolation_level": isolation}
        self._recorder = recorder
        self.batch: list[int] = []

    def poll(self) -> dict[str, list[Any]]:
        return {"t-0": [self._record(offset) for offset in self.batch]}

    def seek(self, *_: Any) -> None:
        pass

    def __next__(self) -> Any:
        return self._record(self.batch[0])

    def _record(self, offset: int) -> Any:
        value = f"v{offset}".encode()
        return SimpleNamespace(topic="t", partition=0, offset=offset, value=value, headers=[], leader_epoch=3)


@pytest.mark.parametrize(
    ("group", "reset", "resets", "expected"),
    [
        (None, "none", None, [0, 0, 0, 1]),
        (None, "latest", None, [0, 0, 1, 2]),
        ("g", "none", None, [0, 0, 1, 2]),
        ("g", "latest", False, [0, 0, 0, 1]),
    ],
)
def test_steps_of_a_client_that_may_move_by_itself_prove_nothing(
    recorded: Recorded, group: str | None, reset: str, resets: bool | None, expected: list[int]
) -> None:
    for offset in range(9):
        recorded.recorder.send("t", f"v{offset}")
    fake = FakeConsumer(recorded.recorder, group=group, reset=reset, isolation="read_committed")
    consumer = recorded.recorder.consumer(fake, resets=resets)
    for batch in ([2, 3], [4], [3]):
        fake.batch = batch
        consumer.poll()
    consumer.seek("t-0", 8)
    fake.batch = [8]
    assert next(iter(consumer)).offset == 8
    rows = recorded.lines("poll")
    assert [row["assignment"] for row in rows] == expected
    assert {row["committed"] for row in rows} == {True}
    assert rows[0]["records"][0]["leader_epoch"] == 3


def test_transactions(recorded: Recorded) -> None:
    """The first answer counts; one that stays open is unknown."""

    class Client:
        def __init__(self) -> None:
            self.config = {"transactional_id": "tx"}

        def begin_transaction(self) -> None: ...
        def commit_transaction(self) -> None: ...
        def abort_transaction(self) -> None: ...

        def send(self, *_: Any, **__: Any) -> Any:
            return SimpleNamespace(add_callback=lambda _: None, add_errback=lambda _: None)

    client = Client()
    producer = recorded.recorder.producer(client)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.send("t", b"x")
        end()
    producer.send("t", b"outside")
    producer.begin_transaction()
    client.commit_transaction = lambda: 1 / 0  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(ZeroDivisionError):
        producer.commit_transaction()
    producer.abort_transaction()
    producer.begin_transaction()
    recorded.recorder.close()
    rows = recorded.lines("txn")
    assert [(row["type"], row["outcome"]) for row in rows] == [
        ("ok", "commit"),
        ("ok", "abort"),
        ("info", "commit"),
        ("info", "commit"),
    ]
    assert {row["transactional_id"] for row in rows} == {"tx"}
    invoked = [json.loads(text) for text in recorded.file.read_text().splitlines()]
    of = [row.get("transaction") for row in invoked if row.get("f") == "send"]
    assert of == [rows[0]["op"], rows[1]["op"], None]
    with pytest.raises(UsageError, match=r"transactional_id=\.\.\.\): expected the id"):
        recorded.recorder.producer(SimpleNamespace(produce=print)).begin_transaction()


def test_by_hand(recorded: Recorded, tmp_path: Path) -> None:
    recorder = recorded.recorder
    first, second, third = (recorder.send("t", value, by="mine") for value in ("a", b"b", "c"))
    recorder.ack(first, partition=0, offset=5)
    recorder.fail(second, "refused")
    del third
    recorder.poll([("t", 0, 5, b"a"), ("t", 0, 6, "never sent")], by="reader", committed=True, assignment=2)
    transaction = recorder.begin("tx", by="mine")
    recorder.commit("g", "t", 0, 6, member="m", by="reader", transaction=transaction)
    recorder.end(transaction, "commit")
    recorder.end(transaction, "abort")
    with pytest.raises(UsageError, match=r"value 'a' was sent before: expected one that no other send"):
        recorder.send("t", "a")
    assert [(row["type"], row.get("error")) for row in recorded.lines("send")] == [
        ("ok", None),
        ("fail", "refused"),
    ]
    (poll,) = recorded.lines("poll")
    assert [each["offset"] for each in poll["records"]] == [5]
    assert (poll["assignment"], poll["committed"]) == (2, True)
    assert [row["transaction"] for row in recorded.lines("commit")] == [transaction.op]
    assert [row["outcome"] for row in recorded.lines("txn")] == ["commit"]
    import_lines(recorded.file, tmp_path / "home")


def test_answers_after_the_end_are_left_out(recorded: Recorded) -> None:
    sent = recorded.recorder.send("t", "a")
    recorded.log.close()
    recorded.recorder.ack(sent, partition=0, offset=1)
    assert recorded.lines("send") == []


def test_faults_of_several_schedules_are_told_apart(recorded: Recorded, tmp_path: Path) -> None:
    """As rows of the nemesis, whose event ids begin again with each schedule."""
    row = {"f": "isolate", "type": "info", "invoked": 1, "completed": 2, "error": None, "process": -1}
    value = {"event": "isolate-0", "stage": "inject", "target": "leader", "nodes": [1], "effective": True}
    for _ in range(2):
        take = recorded.recorder.fault_rows()
        take(row | {"value": value | {"evidence": {"dropped": 3}}})
        take(
            row
            | {
                "value": value
                | {"stage": "heal", "active": {"possibly": [1, 2]}, "options": {}, "planned": 9}
            }
        )
    recorded.recorder.send("t", "a")
    assert [(each["event"], each["stage"]) for each in recorded.lines("fault")] == [
        ("isolate-0", "inject"),
        ("isolate-0", "heal"),
        ("isolate-0.2", "inject"),
        ("isolate-0.2", "heal"),
    ]
    import_lines(recorded.file, tmp_path / "home")


def test_wrapped_clients_are_true_and_close_as_their_own(recorded: Recorded) -> None:
    """A client without a length or without a context behaves as such."""
    closed: list[str] = []

    class Client:
        def send(self) -> None: ...
        def poll(self) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            closed.append("closed")

    for wrapped in (recorded.recorder.producer(Client()), recorded.recorder.consumer(Client())):
        assert wrapped
        with wrapped as same:
            assert same is wrapped
    assert closed == ["closed"] * 2


def test_threads_that_share_a_producer_have_no_order(recorded: Recorded) -> None:
    """What the second thread sends may overtake what the first one has recorded, without any fault of a broker."""

    class Future:
        def add_callback(self, take: Any) -> None:
            take(SimpleNamespace(partition=0, offset=0))

        def add_errback(self, _: Any) -> None: ...

    producer = recorded.recorder.producer(SimpleNamespace(send=lambda *_, **__: Future()))
    for _ in range(2):
        producer.send("t", b"x")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(producer.send, "t", b"x").result()
    names = [row["process"] for row in recorded.lines("send")]
    assert names == ["producer 0", "producer 0", "producer 0, thread 1"]


def test_clients_of_other_libraries_are_refused(recorded: Recorded) -> None:
    with pytest.raises(
        UsageError, match=r"int: expected a producer of kafka-python .* by hand, with send, ack"
    ):
        recorded.recorder.producer(5)
    with pytest.raises(UsageError, match=r"int: expected a consumer of kafka-python .* by hand, with poll"):
        recorded.recorder.consumer(5)


def test_identities() -> None:
    assert token_in([("mine", b"x"), header_of("r", "a/b")], "r") == "a/b"
    assert token_in([header_of("other", "a")], "r") is None
    assert token_in(None, "r") is token_in([("kafkacheck", None)], "r") is None  # type: ignore[list-item]
    assert value_token("é") == value_token("é".encode()) == "=é"
    assert value_token(7) == value_token("7")
    assert value_token(b"\xff") == value_token(b"\xff") != value_token(b"\xfe")
    assert value_token("x" * 999).startswith("sha256:")


def test_final_reads(mock: MockCluster, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """One partition to its end, one that is empty, and one whose end does not come."""
    create = kafka.KafkaConsumer
    monkeypatch.setattr(kafka, "KafkaConsumer", lambda **more: create(**more, api_version=API_VERSION))
    mock.create("short")
    client = kafka.KafkaProducer(**access(mock.bootstrap), api_version=API_VERSION)
    producer = recorded.recorder.producer(client)
    for _ in range(3):
        producer.send("orders", b"x").get(30)
    client.close()
    ends = {("orders", 0): (0, 2), ("short", 0): (0, 1), ("empty", 0): (4, 4)}
    brokers = dict(enumerate(mock.bootstrap))
    missing = read_finally(brokers, ends, recorder=recorded.recorder, log=recorded.log, limit=1)
    assert missing == ["short-0: end not reached within 1 s, at offset 0"]
    reads = {row["topic"]: (row["type"], row["end_offset"]) for row in recorded.lines("final-read")}
    assert reads == {"orders": ("ok", 2), "short": ("info", 1), "empty": ("ok", 4)}
    polled = [each["offset"] for row in recorded.lines("poll") for each in row["records"]]
    assert polled == [0, 1], "not beyond the end"
    assert {(row["final"], row["committed"]) for row in recorded.lines("poll")} == {(True, False)}


def test_the_settings_of_producers_are_recorded_as_far_as_they_are_known(recorded: Recorded) -> None:
    """A producer of kafka-python says them itself, one of confluent-kafka does not."""
    recorder = recorded.recorder
    said = SimpleNamespace(
        send=lambda *_, **__: SimpleNamespace(add_callback=print, add_errback=print),
        config={"acks": -1, "enable_idempotence": True, "retries": 5},
    )
    recorder.producer(said).send("orders", b"1")
    mute = SimpleNamespace(produce=lambda *_, **__: None)
    recorder.producer(mute).produce("orders", b"2")
    recorder.producer(mute, settings={"request.required.acks": 1, "client.id": "a"}).produce("orders", b"3")
    recorder.producer(said)  # which sends nothing
    recorder.close()
    rows = recorded.all("worker")
    assert [
        (row["process"], row.get("acks"), row.get("config")) for row in rows if row["event"] == "started"
    ] == [
        ("producer 0", "all", {"enable.idempotence": "true", "retries": "5"}),
        ("producer 1", None, None),
        ("producer 2", "1", {"enable.idempotence": "false"}),
    ]
    stopped = [row["process"] for row in rows if row["event"] == "stopped"]
    assert stopped == ["producer 0", "producer 1", "producer 2"]
