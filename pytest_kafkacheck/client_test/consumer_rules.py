"""Rules about reading given partitions."""

from __future__ import annotations

import time
from typing import Any

from pytest_kafkacheck.client_test.bench import Bench, Rule, expect

NEEDS = ("producer", "consumer")
COUNT = 300


def _poll(bench: Bench) -> None:
    topic = bench.topic(2)
    values = bench.write(topic, 0, COUNT)
    one = bench.consumer(topic, {0: 10, 1: 0})
    records = one.poll_until(lambda records, _: len(records) >= COUNT - 10, f"{COUNT - 10} records")
    found = [(each["partition"], each["offset"], each["value"]) for each in records]
    wanted = [(0, offset, value) for offset, value in enumerate(values)][10:]
    expect(found == wanted, f"from offset 10 it returned {len(found)} records, {found[:2]}...")
    positions = _positions(one.call("poll", timeout_ms=0))
    expect(positions == {0: COUNT, 1: 0}, f"its positions are {positions}; expected {{0: {COUNT}, 1: 0}}")


def _seek(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 20)
    one = bench.consumer(topic, {0: 0})
    one.poll_until(lambda records, _: len(records) >= 20, "20 records")
    one.call("seek", topic=topic, partition=0, offset=5)
    records = one.poll_until(lambda records, _: len(records) >= 15, "15 records after a seek to offset 5")
    found = [each["offset"] for each in records]
    expect(found == list(range(5, 20)), f"after a seek to offset 5 it returned offsets {found}")


def _only(bench: Bench) -> None:
    topic = bench.topic(2)
    bench.write(topic, 0, 10)
    bench.write(topic, 1, 10)
    one = bench.consumer(topic, {0: 0, 1: 0})
    for wanted in (1, 0):
        one.call("only", logs=[{"topic": topic, "partition": wanted}])
        records = one.poll_until(lambda records, _: len(records) >= 10, f"10 records of partition {wanted}")
        found = [(each["partition"], each["offset"]) for each in records]
        expect(
            found == [(wanted, offset) for offset in range(10)],
            f"with only partition {wanted} it returned {found[:3]}...",
        )


def _out_of_range(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 5)
    one = bench.consumer(topic, {0: 900})
    lost: list[dict[str, Any]] = []

    def is_lost(_: object, answer: dict[str, Any]) -> bool:
        lost.extend(answer.get("lost", []))
        return bool(lost)

    records = one.poll_until(is_lost, "the position 900, behind the end of the log, as lost")
    expect(not records, f"from offset 900 of a log with 5 records it returned {len(records)} records")
    at = (lost[0]["topic"], lost[0]["partition"], lost[0]["position"])
    expect(at == (topic, 0, 900), f"it lost {lost[0]}")
    one.call("seek", topic=topic, partition=0, offset=3)
    records = one.poll_until(lambda records, _: len(records) >= 2, "2 records after a seek to offset 3")
    expect(records[0]["offset"] == 3, f"after a seek to offset 3 it returned {records[0]['offset']} first")


def _epochs(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 5)
    one = bench.consumer(topic, {0: 0})
    records = one.poll_until(lambda records, _: len(records) >= 5, "5 records")
    epochs = [each.get("epoch") for each in records]
    expect(
        all(type(each) is int and each >= 0 for each in epochs),
        f"the leader epochs of its records are {epochs}",
    )


def _reported_ends(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 5)
    one = bench.consumer(topic, {0: 0})
    one.poll_until(lambda records, _: len(records) >= 5, "5 records")
    bench.write(topic, 0, 3)
    written = time.monotonic_ns()
    ends: list[dict[str, Any]] = []

    def is_told(_: object, answer: dict[str, Any]) -> bool:
        ends.extend(each for each in answer.get("ends", []) if each["asked"] >= written)
        return bool(ends)

    one.poll_until(is_told, "the end of the log, asked for after the last write")
    found = (ends[0]["topic"], ends[0]["partition"], ends[0]["offset"])
    expect(found == (topic, 0, 8), f"it reported {ends[0]}; expected the end of {topic}-0, offset 8")
    expect(
        type(ends[0]["node"]) is int, f"the node of its end is {ends[0]['node']!r}; expected a broker's id"
    )


def _headers(bench: Bench) -> None:
    topic = bench.topic(1)
    one = bench.producer(topic)
    headers = [["a", "eA=="], ["none", None]]
    one.send([{"n": 1, "topic": topic, "partition": 0, "key": "aw==", "value": None, "headers": headers}])
    one.await_completions(1)
    (record,) = bench.consumer(topic, {0: 0}).poll_until(lambda records, _: bool(records), "1 record")
    found = (record.get("key"), record.get("value", ""), record.get("headers"))
    expect(found == ("aw==", None, headers), f"key, value and headers are {found}")


def _positions(answer: dict[str, Any]) -> dict[int, int]:
    return {each["partition"]: each["offset"] for each in answer["positions"]}


RULES = (
    Rule(name="poll", says="it returns all records from an offset, in order, and its positions", test=_poll,
         needs=NEEDS),
    Rule(name="seek", says="after a seek it goes on from that offset", test=_seek, needs=NEEDS),
    Rule(name="only", says="it polls only the partitions asked for, and keeps the positions of others",
         test=_only, needs=NEEDS),
    Rule(name="out-of-range", says="a position that is not in the log is lost, and nothing moves it",
         test=_out_of_range, needs=NEEDS),
    Rule(name="leader-epochs", says="records have the leader epoch of their batch", test=_epochs,
         needs=(*NEEDS, "leader-epochs")),
    Rule(name="reported-ends", says="the ends that it reports are not older than it says", test=_reported_ends,
         needs=(*NEEDS, "reported-ends")),
    Rule(name="read-headers", says="headers, keys and missing values are returned", test=_headers,
         needs=(*NEEDS, "headers")),
)  # fmt: skip
