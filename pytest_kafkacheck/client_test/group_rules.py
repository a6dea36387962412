"""Rules about members of groups, for both protocols."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from pytest_kafkacheck.client_test.bench import LIMIT, Bench, Broken, Rule, Started, expect, single

COMMIT: dict[str, Any] = {"timeout_ms": 4000, "limit": 4.0}
CLOSE: dict[str, Any] = {"timeout_ms": 5000, "limit": 5.0}


class Watched:
    """A member, and what its answers said about its partitions."""

    def __init__(self, started: Started) -> None:
        self.started = started
        self.owned: dict[int, int | None] = {}
        """Partition to where it began."""
        self.records: list[dict[str, Any]] = []
        self.member = ""
        self.generation: Any = None

    def poll(self) -> None:
        answer = self.started.call("poll", timeout_ms=100, limit=0.1)
        self.note(answer)
        for each in single(answer):
            expect(
                each["partition"] in self.owned,
                f"it returned a record of partition {each['partition']}, which no event assigned to it",
            )
        self.records += single(answer)
        self.member, self.generation = answer.get("member") or "", answer.get("generation")

    def note(self, answer: dict[str, Any]) -> None:
        for event in answer.get("events", []):
            partition = event["partition"]
            if event["event"] == "assigned":
                expect(partition not in self.owned, f"partition {partition} was assigned to it twice")
                self.owned[partition] = event.get("start")
            else:
                expect(partition in self.owned, f"it gave up partition {partition}, which it did not have")
                del self.owned[partition]


def _goes_on(protocol: str, bench: Bench) -> None:
    topic, group = bench.topic(2), bench.name()
    bench.write(topic, 0, 20)
    bench.write(topic, 1, 20)
    one = Watched(bench.member(topic, group, protocol))
    _poll_until([one], lambda: len(one.records) >= 40, "a single member gets all 40 records")
    expect(one.owned == {0: 0, 1: 0}, f"its partitions and where they began are {one.owned}")
    expect(bool(one.member), "it states no member id")
    expect(type(one.generation) is int and one.generation >= 0, f"its generation is {one.generation}")
    one.started.call("commit", offsets=[_at(topic, 0, 12), _at(topic, 1, 20)], **COMMIT)
    one.note(one.started.call("close", **CLOSE))
    two = Watched(bench.member(topic, group, protocol))
    _poll_until([two], lambda: len(two.records) >= 8, "the next member gets 8 records")
    found = [(each["partition"], each["offset"]) for each in two.records]
    expect(
        found == [(0, offset) for offset in range(12, 20)],
        f"after commits of 12 and 20 the next member got {found[:3]}...",
    )
    expect(two.owned == {0: 12, 1: 20}, f"its partitions and where they began are {two.owned}")


def _shares(protocol: str, bench: Bench) -> None:
    topic, group = bench.topic(2), bench.name()
    bench.write(topic, 0, 5)
    one = Watched(bench.member(topic, group, protocol))
    _poll_until([one], lambda: len(one.owned) == 2, "a single member has both partitions")
    two = Watched(bench.member(topic, group, protocol))
    both = [one, two]
    _poll_until(
        both,
        lambda: len(one.owned) == 1 and len(two.owned) == 1 and not set(one.owned) & set(two.owned),
        "two members have one partition each",
    )
    one.note(one.started.call("close", **CLOSE))
    _poll_until([two], lambda: len(two.owned) == 2, "the other member has both when one has left")


def _seeks(protocol: str, bench: Bench) -> None:
    topic, group = bench.topic(1), bench.name()
    bench.write(topic, 0, 5)
    one = Watched(bench.member(topic, group, protocol))
    _poll_until([one], lambda: len(one.records) >= 5, "5 records")
    one.started.call("seek", topic=topic, partition=0, offset=2)
    one.records = []
    _poll_until([one], lambda: len(one.records) >= 3, "3 records after a seek to offset 2")
    found = [each["offset"] for each in one.records]
    expect(found == [2, 3, 4], f"after a seek to offset 2 it got the offsets {found}")
    one.started.call("commit", offsets=[_at(topic, 0, 5)], **COMMIT)


def _poll_until(members: list[Watched], condition: Any, what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            state = "; ".join(
                f"partitions {sorted(each.owned)}, {len(each.records)} records" for each in members
            )
            raise Broken(f"not within {LIMIT:.0f} s: {what}; they have {state}")
        for each in members:
            each.poll()


def _at(topic: str, partition: int, offset: int) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "offset": offset}


def _needs(protocol: str) -> tuple[str, ...]:
    return ("producer", f"group-{protocol}", *(("assignor-range",) if protocol == "classic" else ()))


RULES = tuple(
    Rule(name=f"{protocol}-{name}", says=says, test=partial(test, protocol), needs=_needs(protocol))
    for protocol in ("classic", "consumer")
    for name, says, test in (
        ("member", "a member reports its partitions, commits, and the next one goes on from there", _goes_on),
        ("rebalance", "two members share the partitions, and one has all when the other has left", _shares),
        ("seek", "a member goes on from where it is sent", _seeks),
    )
)
