"""Rules about sending."""

from __future__ import annotations

from pytest_kafkacheck.client_test.bench import (
    Bench,
    Rule,
    Started,
    Stored,
    decoded,
    encoded,
    expect,
    records,
)
from workloads.clients.command.messages import Done

COUNT = 400


def _send(bench: Bench) -> None:
    topic = bench.topic(2)
    one = bench.producer(topic)
    sent = records(topic, [number % 2 for number in range(COUNT)])
    for start in range(0, COUNT, 50):
        one.send(sent[start : start + 50])
    offsets = _offsets(one, COUNT)
    for partition in (0, 1):
        wanted = [
            (offsets[each["n"]], decoded(each["value"])) for each in sent if each["partition"] == partition
        ]
        found = [(each.offset, each.value) for each in bench.brokers.stored(topic, partition)]
        expect(
            found == wanted,
            f"partition {partition} has {len(found)} records, {found[:2]}...; it acknowledged {len(wanted)}, "
            f"{wanted[:2]}...",
        )


def _acks(bench: Bench) -> None:
    topic = bench.topic(1)
    for acks in (1, 0):
        one = bench.producer(topic, acks=1 if acks else 0)
        one.send(records(topic, [0] * 10))
        for each in one.await_completions(10):
            expect(each.error is None, f"with acks={acks}, record {each.number} ended with {each.error}")
        one.call("close", timeout_ms=5000, limit=5.0)
    count = len(bench.brokers.stored(topic, 0))
    expect(count == 20, f"the topic has {count} of 20 records")


def _headers(bench: Bench) -> None:
    topic = bench.topic(1)
    one = bench.producer(topic)
    headers = [["first", encoded("1")], ["first", encoded("2")], ["none", None]]
    one.send(
        [
            {"n": 1, "topic": topic, "partition": 0, "key": encoded("k"), "value": None, "headers": headers},
            {"n": 2, "topic": topic, "partition": 0, "key": None, "value": encoded(""), "headers": []},
        ]
    )
    _offsets(one, 2)
    found = bench.brokers.stored(topic, 0)
    wanted = [
        Stored(0, b"k", None, [("first", b"1"), ("first", b"2"), ("none", None)]),
        Stored(1, None, b"", []),
    ]
    expect(found == wanted, f"the brokers have {found}; expected {wanted}")


def _error(bench: Bench) -> None:
    topic = bench.topic(1, small=True)
    one = bench.producer(topic)
    one.send(records(topic, [0], size=5000))
    (done,) = one.await_completions(1)
    expect(done.error is not None, "a record of 5,000 bytes was acknowledged; the topic allows 1,000")
    assert done.error is not None
    expect(done.error.name == "MESSAGE_TOO_LARGE", f"it is {done.error.name}; expected MESSAGE_TOO_LARGE")
    stored = bench.brokers.stored(topic, 0)
    expect(not stored, f"the topic has {len(stored)} records")


def _no_partition(bench: Bench) -> None:
    topic = bench.topic(1)
    one = bench.producer(topic)
    one.send(records(topic, [99, 0]))
    done = {each.number: each for each in one.await_completions(2)}
    expect(done[1].error is not None, "a record for partition 99 of a topic with 1 was acknowledged")
    expect(done[2].error is None, f"the next record, for partition 0, ended with {done[2].error}")


def _flush(bench: Bench) -> None:
    topic = bench.topic(1)
    one = bench.producer(topic)
    one.send(records(topic, [0] * COUNT))
    one.call("flush", timeout_ms=10_000, limit=10.0)
    expect(
        len(one.completed) == COUNT,
        f"{len(one.completed)} of {COUNT} records were completed before the answer to 'flush'",
    )
    stored = len(bench.brokers.stored(topic, 0))
    expect(stored == COUNT, f"the brokers have {stored} of {COUNT} records after the answer to 'flush'")


def _close(bench: Bench) -> None:
    topic = bench.topic(1)
    one = bench.producer(topic)
    one.send(records(topic, [0] * COUNT))
    one.call("close", timeout_ms=10_000, limit=10.0)
    one.take()
    expect(
        len(one.completed) == COUNT,
        f"{len(one.completed)} of {COUNT} records were completed before the answer to 'close'",
    )
    acknowledged = sum(each.error is None for each in one.completed)
    stored = len(bench.brokers.stored(topic, 0))
    expect(acknowledged <= stored, f"it acknowledged {acknowledged} records, and the brokers have {stored}")
    one.completed = []
    bench.producer(topic, one=one)
    one.send(records(topic, [0]))
    _offsets(one, 1)


def _offsets(one: Started, count: int) -> dict[int, int]:
    """Number to offset, of records that all have to be acknowledged, once each."""
    done = one.await_completions(count)
    offsets = {each.number: _offset(each) for each in done}
    expect(
        sorted(offsets) == list(range(1, count + 1)),
        f"it completed {len(offsets)} different records of {count}",
    )
    return offsets


def _offset(done: Done) -> int:
    expect(done.error is None, f"record {done.number} ended with {done.error}")
    expect(done.offset is not None, f"record {done.number} has no offset")
    assert done.offset is not None
    return done.offset


RULES = (
    Rule(
        name="send", says="each record goes to its partition, in order, and is completed once with its offset",
        test=_send, needs=("producer",),
    ),
    Rule(name="acks", says="records with acks of 1 and 0 are completed, too", test=_acks, needs=("producer",)),
    Rule(
        name="headers", says="headers, keys and missing values are stored as they were sent", test=_headers,
        needs=("producer", "headers"),
    ),
    Rule(
        name="send-error", says="a record that a broker refuses ends with Kafka's name of the error",
        test=_error, needs=("producer",),
    ),
    Rule(
        name="no-partition", says="a record for a partition that is not there ends with an error, the next is sent",
        test=_no_partition, needs=("producer",),
    ),
    Rule(
        name="flush", says="all records are completed before 'flush' is answered", test=_flush,
        needs=("producer", "flush"),
    ),
    Rule(
        name="close", says="all records are completed before 'close' is answered; another client can be opened",
        test=_close, needs=("producer",),
    ),
)  # fmt: skip
