"""What clients did before a fault shows nothing about it: what they did after its end is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzers.verdict.promises import unmet
from analyzers.verdict.verdict import Verdict
from tests.support.stories.queues import ended as queued
from tests.support.stories.queues import fed, took
from tests.support.stories.recoveries import sent_to_before_the_heal_only, silent_after_the_heal

pytestmark = pytest.mark.spark

ONE = 1 << 40
PROMISES = {"session-reads", "transactions", "group-commits"}


def only_before(s: Any) -> Any:
    """A session's read, a transaction, and the commits of group a; those after the fault do not succeed."""
    around_a_fault(s)
    s.operation("read", session=1, process=7, type="info", start_offset=0, end_offset=2)
    transaction(s, 102, kind="ok", outcome="abort")
    transaction(s, 103, kind="info", outcome="commit")
    s.operation("commit", process=8, group="a", generation=1, end_offset=2, type="fail")
    return ended(s)


def also_after(s: Any) -> Any:
    around_a_fault(s)
    s.operation("read", session=1, process=7, start_offset=0, end_offset=0)
    transaction(s, 102, kind="ok", outcome="commit")
    s.operation("commit", process=8, group="a", generation=1, end_offset=2)
    return ended(s)


def around_a_fault(s: Any) -> None:
    s.send(ONE, 0).poll(ONE, 0).operation("read", session=1, process=7, start_offset=0, end_offset=0)
    transaction(s, 101, kind="ok", outcome="commit")
    for process, group in ((8, "a"), (9, "b")):
        s.operation("commit", process=process, group=group, generation=1, end_offset=1)
    s.fault("inject").fault("heal").send(ONE + 1, 1).poll(ONE + 1, 1)


def transaction(s: Any, op: int, *, kind: str, outcome: str) -> None:
    value = json.dumps({"transactional_id": "x", "epoch": 0, "outcome": outcome, "ending": s.now})
    s.operation("txn", op=op, process=5, type=kind, value=value, topic=None, partition=None)


def ended(s: Any) -> Any:
    s.operation("commit", process=9, group="b", generation=1, end_offset=2)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def with_a_partition_that_nobody_describes(s: Any) -> Any:
    took(fed(s), 0, 1, 2, 3).send(2 << 40, 0, partition=1)
    return queued(s.final({0: 2 << 40}, end=1, partition=1))


def test_what_clients_did_after_a_fault_is_counted(judged: Any, story: Any) -> None:
    verdicts: dict[str, Verdict] = judged({"before": only_before(story()), "after": also_after(story())})
    verdict = verdicts["before"]
    (fault,) = verdict.exercised.faults
    assert (fault.reads_after, fault.transactions_after, fault.idle_groups) == (0, 0, ("a",))
    assert {*verdict.not_exercised} >= PROMISES
    assert Verdict.from_json(verdict.to_json()) == verdict
    verdict = verdicts["after"]
    (fault,) = verdict.exercised.faults
    assert (fault.reads_after, fault.transactions_after, fault.idle_groups) == (1, 1, ())
    assert PROMISES.isdisjoint(verdict.not_exercised)
    assert (fault.acks_before, fault.acks_during, fault.acks_after) == (1, 0, 1), "sends only"


def test_a_partition_that_acknowledges_nothing_after_a_fault_is_named(judged: Any, story: Any) -> None:
    """The acknowledgements of another one do not exercise it."""
    verdicts: dict[str, Verdict] = judged({
        make.__name__: make(story()) for make in (silent_after_the_heal, sent_to_before_the_heal_only)
    })  # fmt: skip
    verdict = verdicts["silent_after_the_heal"]
    assert [fault.silent for fault in verdict.exercised.faults] == [("t-0",)]
    (why,) = unmet(verdict.exercised, ["acks-after-faults"])
    assert why.endswith("acknowledged none of their sends after the end of isolate leader (e1: t-0).")
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert "acks-after-faults" not in verdicts["sent_to_before_the_heal_only"].not_exercised


def test_a_partition_of_a_share_group_of_which_nothing_is_recorded_is_named(judged: Any, story: Any) -> None:
    verdicts = judged({"added": with_a_partition_that_nobody_describes(story())})
    assert unmet(verdicts["added"].exercised, ["deliveries"]) == (
        "Not exercised, but required (deliveries): how far a share group had got at the end is not recorded of t-1, "
        "which may have been added.",
    )
