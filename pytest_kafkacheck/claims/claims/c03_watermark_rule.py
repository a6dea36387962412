"""Log ends and high watermarks of all replicas are read: while bursts of records arrive, with a follower that stands
still, and while that one catches up from a leader that sends slowly.

A mark and a log end that are read one after the other belong to two moments, but both only grow. So a mark that is
read first must not be above log ends that are read later.

Exercised: in bursts there were marks below the log end; the follower that stands still was in the ISR with the lowest
log end; the returning one was read with a log end below the leader's mark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from nemesis.faults.bandwidth import bandwidth
from nemesis.faults.pause import pause
from nemesis.tasks import in_thread
from pytest_kafkacheck.claims.claim import Answer, Claim
from pytest_kafkacheck.claims.clusters import BOTH_MODES
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised

BURSTS, MOST, RECORDS = 6, 20, 3000
"""Bursts, at most so many until a mark was seen below the log end, and records of each."""

MORE = 10
"""Records that the follower that stands still lacks, before it has left the ISR."""

BACKLOG, SIZE = 60, 50_000
"""Records that it lacks as well, and bytes of each: several fetches of replica.fetch.max.bytes, which is 1 MiB."""

KBIT = 16_000
"""Of the leader: 2 MB/s."""

REST = 5.0
"""Seconds within which marks are at their final places."""


class Seen(NamedTuple):
    """rule: samples within the rule. broken: those outside. telling: those in which the rule makes a difference."""

    rule: int
    broken: int
    telling: int


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader, running, paused = replicas = context.view(topic).replicas
    bursts = _bursts(context, topic, replicas)
    exercised(bursts.telling > 0, "the leader's mark was at its log end in every sample")
    before = context.end(topic, leader)
    context.require(
        lambda: all(context.marks(topic, node).high_watermark == before for node in replicas),
        REST,
        "all replicas have the high watermark of the records",
    )
    total = before + MORE
    with ExitStack() as pausing:
        pausing.enter_context(context.cluster.fault(pause(paused)))
        for number in range(MORE):
            context.produce(topic, leader, f"more{number}", acks=1)
        context.require(lambda: context.end(topic, running) == total, 1, "the other follower has all records")
        at_first = {node: context.marks(topic, node).high_watermark for node in (leader, running)}
        exercised(len(context.view(topic, at=leader).isr) == 3, "the ISR shrank before the mark was read")
        shrunk = context.require(
            lambda: set(context.view(topic, at=leader).isr) == {leader, running}, 10, "the ISR shrinks"
        )
        at_last = context.wait(lambda: context.marks(topic, leader).high_watermark == total, 2)
        address = context.cluster.brokers[leader]  # the broker that stands still must not be asked first
        context.write(topic, ("x" * SIZE for _ in range(BACKLOG)), bootstrap_servers=[str(address)])
        with context.cluster.fault(bandwidth(leader, kbit=KBIT)):
            pausing.close()
            catching_up = _catching_up(context, topic, leader, paused)
    exercised(
        catching_up.telling > 0,
        "the returning follower was never seen with a log end below the leader's mark",
    )
    held_back = set(at_first.values()) == {before}
    return Answer(
        holds=held_back and at_last is not None and not bursts.broken and not catching_up.broken,
        seen=f"in bursts {bursts.broken} of {bursts.rule + bursts.broken} samples were outside of the rule, and "
        f"{catching_up.broken} of {catching_up.rule + catching_up.broken} while a follower caught up, which in "
        f"{catching_up.telling} had its log end as mark, below that of the leader; with a follower that stood still "
        f"the marks were {sorted(at_first.values())} with log ends of {total}, after it had left the ISR "
        f"{total if at_last is not None else 'less'}",
        figures={
            "samples": bursts.rule + catching_up.rule + bursts.broken + catching_up.broken,
            "outside of the rule": bursts.broken + catching_up.broken,
            "ISR shrank after (s)": round(shrunk, 1),
        },
    )


def _bursts(context: ScenarioContext, topic: str, replicas: Sequence[int]) -> Seen:
    """The leader's mark is at most the lowest log end in the ISR, a follower's at most its log end and that mark."""
    leader, *followers = replicas
    producer = context.producer(acks=1, linger_ms=1)
    rule = broken = telling = 0

    def burst() -> None:
        for each in [producer.send(topic, b"burst", partition=0) for _ in range(RECORDS)]:
            each.get(timeout=30)

    for number in range(MOST):
        if number >= BURSTS and telling:
            break
        sending = in_thread(burst, "kafkacheck-burst")
        while not sending.done():
            of_followers = {node: context.marks(topic, node).high_watermark for node in followers}
            earlier = context.end(topic, leader)
            mark = context.marks(topic, leader).high_watermark
            ends = {node: context.end(topic, node) for node in replicas}
            is_right = mark <= min(ends.values()) and all(
                each <= min(ends[node], mark) for node, each in of_followers.items()
            )
            rule, broken = rule + is_right, broken + (not is_right)
            telling += mark < earlier
        sending.result()
    return Seen(rule, broken, telling)


def _catching_up(context: ScenarioContext, topic: str, leader: int, follower: int) -> Seen:
    """Until it has all records, its mark is its log end: it lies between those that are read before and after it.

    A follower appends what it has fetched, and then moves its mark: one that is below is read again.
    """
    total = context.end(topic, leader)
    seen: Counter[str] = Counter()

    def mark() -> int:
        return context.marks(topic, follower).high_watermark

    def is_done() -> bool:
        before, between, after = context.end(topic, follower), mark(), context.end(topic, follower)
        if after < total:
            is_right = between <= after and (
                between >= before or context.wait(lambda: mark() >= before, 1) is not None
            )
            seen["rule" if is_right else "broken"] += 1
            seen["telling"] += before == between == after
        return after == total

    context.require(is_done, 20, "the follower has caught up")
    return Seen(seen["rule"], seen["broken"], seen["telling"])


CLAIM = Claim(
    id="C3",
    title="rule of the high watermark",
    text="The leader's high watermark is the lowest log end offset in the ISR. One slow follower holds it back, "
    "until it has left the ISR. A follower's is the leader's, or its own log end where that is lower.",
    source="https://kafka.apache.org/documentation/#replication",
    cases=BOTH_MODES,
    show=show,
)
