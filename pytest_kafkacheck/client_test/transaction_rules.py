"""Rules about transactions."""

from __future__ import annotations

from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.client_test.bench import Bench, Rule, Started, expect, records
from workloads.clients.command.messages import Refusal

NEEDS = ("transactions",)

END: dict[str, Any] = {"timeout_ms": 10_000, "limit": 10.0}

MARKERS = 10.0
"""Seconds for the markers of a transaction, which the coordinator writes after it has answered its end."""


def _outcomes(bench: Bench) -> None:
    topic, id = bench.topic(2), bench.name()
    one = bench.transactional(topic, id)
    committed = 0
    for number, outcome in enumerate(("commit", "abort", "commit"), 1):
        one.call("begin")
        _send(one, topic, number)
        one.call("end", outcome=outcome, **END)
        committed += outcome == "commit"
        for partition in (0, 1):
            count = _visible(bench, topic, partition, committed)
            expect(
                count == committed,
                f"{MARKERS:g} s after {number} transactions, {committed} of them committed, readers of committed "
                f"records get {count} of partition {partition}",
            )


def _visible(bench: Bench, topic: str, partition: int, wanted: int) -> int:
    """The number of committed records, once there are as many as wanted, or when time is up."""

    def last(state: RetryCallState) -> int:
        assert state.outcome is not None
        return int(state.outcome.result())

    found: int = Retrying(
        stop=stop_after_delay(MARKERS),
        wait=wait_fixed(0.1),
        retry=retry_if_result(lambda count: count < wanted),
        retry_error_callback=last,
    )(lambda: len(bench.brokers.stored(topic, partition)))
    return found


def _markers(bench: Bench) -> None:
    topic = bench.topic(2)
    one = bench.transactional(topic, bench.name())
    for number, outcome in enumerate(("commit", "abort"), 1):
        one.call("begin")
        _send(one, topic, number)
        one.call("end", outcome=outcome, **END)
    reader = bench.consumer(topic, {0: 0}, committed=True)
    found = reader.poll_until(
        lambda _, answer: [each["offset"] for each in answer["positions"]] == [4],
        "the position 4, behind 2 records and 2 markers of transactions",
    )
    offsets = [each["offset"] for each in found]
    expect(offsets == [0], f"a reader of committed records got the offsets {offsets}; expected [0]")
    reader = bench.consumer(topic, {0: 0}, committed=False)
    found = reader.poll_until(lambda records, _: len(records) >= 2, "2 records, one of them aborted")
    offsets = [each["offset"] for each in found]
    expect(offsets == [0, 2], f"a reader of all records got the offsets {offsets}; expected [0, 2]")


def _fenced(bench: Bench) -> None:
    topic, id = bench.topic(2), bench.name()
    first = bench.transactional(topic, id)
    first.call("begin")
    _send(first, topic, 1)
    bench.transactional(topic, id)
    error = first.error("end", outcome="commit", **END)
    expect(
        error.name in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"),
        f"the commit of a producer whose id another has claimed ended with {error}",
    )
    count = len(bench.brokers.stored(topic, 0))
    expect(count == 0, f"{count} records of its transaction are committed")


def _offsets(bench: Bench) -> None:
    topic, target, group = bench.topic(1), bench.topic(2), bench.name()
    bench.write(topic, 0, 8)
    member = bench.member(topic, group, "classic")
    state: dict[str, Any] = {}

    def is_enough(records: list[dict[str, Any]], answer: dict[str, Any]) -> bool:
        state.update(answer)
        return len(records) >= 8

    member.poll_until(is_enough, "8 records")
    membership = {
        "group": group,
        "member": state["member"],
        "generation": state["generation"],
        "instance": None,
    }
    offsets = [{"topic": topic, "partition": 0, "offset": 5}]
    one = bench.transactional(target, bench.name())
    one.call("begin")
    _send(one, target, 1)
    one.call("add-offsets", offsets=offsets, membership=membership, **END)
    one.call("end", outcome="commit", **END)
    one.call("begin")
    _send(one, target, 2)
    outdated = {**membership, "generation": 999}
    moved = [{"topic": topic, "partition": 0, "offset": 7}]
    try:
        one.call("add-offsets", offsets=moved, membership=outdated, **END)
    except Refusal:
        pass
    else:
        expect(False, "offsets of a generation that is not that of the group were accepted")
    member.call("close", timeout_ms=5000, limit=5.0)
    again = bench.member(topic, group, "classic").poll_until(
        lambda records, _: bool(records), "a record after the offset that was committed in a transaction"
    )
    expect(again[0]["offset"] == 5, f"the next member begins at {again[0]['offset']}; 5 was committed")


def _send(one: Started, topic: str, number: int) -> None:
    """A record to partitions 0 and 1, each acknowledged."""
    first = 2 * number - 1
    sent = [{**each, "n": first + place} for place, each in enumerate(records(topic, [0, 1]))]
    one.send(sent)
    for each in one.await_completions(2 * number):
        expect(each.error is None, f"a record of a transaction ended with {each.error}")


RULES = (
    Rule(name="transactions", says="committed records are visible soon after 'end' is answered, aborted ones never",
         test=_outcomes, needs=NEEDS),
    Rule(name="markers", says="positions pass the markers of transactions; isolation.level is heeded",
         test=_markers, needs=(*NEEDS, "consumer", "read-committed")),
    Rule(name="fenced", says="a producer whose id another has claimed cannot commit", test=_fenced,
         needs=NEEDS),
    Rule(name="transaction-offsets", says="offsets in a transaction are those of the group, if its member is current",
         test=_offsets, needs=(*NEEDS, "producer", "group-classic", "assignor-range")),
)  # fmt: skip
