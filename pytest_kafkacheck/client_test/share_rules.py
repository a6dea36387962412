"""Rules about consumers of share groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pytest_kafkacheck.client_test.bench import LIMIT, Bench, Broken, Rule, Started, expect, single

COMMIT: dict[str, Any] = {"timeout_ms": 5000, "limit": 5.0}
CLOSE: dict[str, Any] = {"timeout_ms": 5000, "limit": 5.0}

Counts = dict[int, int]
"""Offset to the count of deliveries."""


def _types(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 10)
    one = bench.share(topic, bench.name())
    said = {3: "release", 5: "reject"}
    first = _consume(one, topic, lambda got: len(got) >= 10, "10 records", said)
    expect(first == dict.fromkeys(range(10), 1), f"offsets and counts of first deliveries are {first}")
    again = _consume(one, topic, lambda got: 3 in got, "the released record again", {})
    expect(again == {3: 2}, f"after a release of offset 3 it got these offsets and counts: {again}")


def _holds(bench: Bench) -> None:
    topic, group = bench.topic(1), bench.name()
    bench.write(topic, 0, 10)
    one = bench.share(topic, group)
    held = _poll(one, lambda got: bool(got), "a record")
    bench.write(topic, 0, 5)
    two = bench.share(topic, group)
    others = _consume(two, topic, lambda got: len(got) >= 15 - len(held), "the other records", {})
    expect(not set(held) & set(others), f"both got the offsets {sorted(set(held) & set(others))}")
    one.call("close", **CLOSE)
    rest = _consume(two, topic, lambda got: set(held) <= set(got), "what the closed one had", {})
    expect(
        set(rest) == set(held),
        f"after it was closed, the other one got {sorted(rest)}; it had {sorted(held)}",
    )


def _progress(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 10)
    one = bench.share(topic, bench.name())
    _consume(one, topic, lambda got: len(got) >= 10, "10 records", {})
    deadline = time.monotonic() + LIMIT
    while True:
        answer = one.call("progress", timeout_ms=5000, limit=15.0)
        found = [(each["topic"], each["partition"], each.get("lag")) for each in answer["partitions"]]
        if found == [(topic, 0, 0)]:
            break
        if time.monotonic() > deadline:
            raise Broken(f"10 of 10 records are accepted, and its progress is {answer}; expected a lag of 0")
        time.sleep(0.2)
    limit = answer.get("delivery_limit")
    expect(type(limit) is int and limit >= 2, f"its delivery_limit is {limit}")


def _unknown(bench: Bench) -> None:
    topic = bench.topic(1)
    bench.write(topic, 0, 1)
    one = bench.share(topic, bench.name())
    _consume(one, topic, lambda got: len(got) >= 1, "a record", {})
    for records, name in (
        ([_at(topic, 99, "accept")], "INVALID_STATE"),
        ([_at(topic, 0, "forget")], "INVALID_REQUEST"),
    ):
        refused = one.error("acknowledge", records=records)
        expect(refused.name in (name, "INVALID_STATE"), f"the error is {refused}; expected {name}")


def _consume(
    one: Started, topic: str, is_enough: Callable[[Counts], bool], what: str, types: Mapping[int, str]
) -> Counts:
    """Poll and acknowledge. types: by offset; the others are accepted."""
    return _poll(one, is_enough, what, lambda offsets: _answer(one, topic, offsets, types))


def _answer(one: Started, topic: str, offsets: Collection[int], types: Mapping[int, str]) -> None:
    one.call("acknowledge", records=[_at(topic, each, types.get(each, "accept")) for each in offsets])
    answer = one.call("commit", **COMMIT)
    found = [(each["topic"], each["partition"], each.get("error")) for each in answer["partitions"]]
    expect(found == [(topic, 0, None)], f"it answered 'commit' with {answer}")


def _poll(
    one: Started,
    is_enough: Callable[[Counts], bool],
    what: str,
    answer: Callable[[Collection[int]], None] | None = None,
) -> Counts:
    """answer: acknowledges what a poll returned; None: one poll with records is enough."""
    got: Counts = {}
    deadline = time.monotonic() + LIMIT
    while not is_enough(got):
        if time.monotonic() > deadline:
            raise Broken(f"within {LIMIT:.0f} s it did not get {what}; it got the offsets {sorted(got)}")
        records = single(one.call("poll", timeout_ms=200, limit=0.2))
        got |= {each["offset"]: each.get("deliveries") for each in records}
        if records and answer is not None:
            answer([each["offset"] for each in records])
    return got


def _at(topic: str, offset: int, type: str) -> dict[str, Any]:
    return {"topic": topic, "partition": 0, "offset": offset, "type": type}


RULES = tuple(
    Rule(name=f"share-{name}", says=says, test=test, needs=("producer", "share-groups"), release=(4, 2))
    for name, says, test in (
        (
            "acknowledge",
            "released records come again with a higher count, accepted and rejected ones do not",
            _types,
        ),
        ("lock", "it gets nothing that another one has, until that is closed", _holds),
        (
            "progress",
            "it reports a lag of 0 when all records are accepted, and the limit of deliveries",
            _progress,
        ),
        (
            "unknown",
            "an acknowledgement of what the last poll did not return, or of no kind, is an error",
            _unknown,
        ),
    )
)
