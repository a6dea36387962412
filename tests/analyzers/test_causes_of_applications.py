"""Which defect of an application explains its findings, from the records of its run. Needs no JVM."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.causes.application import habit
from analyzers.causes.derive import derive
from analyzers.causes.evidence import Extent, RunEvidence
from analyzers.history.fault_events import fault_events
from analyzers.judge.applications import application_of
from analyzers.verdict.finding import Cause
from tests.spark.conftest import Story
from tests.support.stories import failing_applications as failing
from tests.support.stories.failing_applications import ONE, SINK, S

CLIENTS = {3: "app:0", 4: "app:1"}


Finding = tuple[str, tuple[int, ...], float]
"""The anomaly, the offsets of its inputs, and its time in s."""


def evidence(s: Any, *findings: Finding) -> RunEvidence:
    sends = [each for each in s.records if each["f"] == "send"]
    inputs = [
        SimpleNamespace(
            topic="t", partition=0, value=each["value"], offset=each["offset"], time=each["invoked"],
            key=each["key"], sink=SINK,
        )
        for each in sends
    ]  # fmt: skip
    outputs = []
    for each in s.operations:
        if each["f"] == "output":
            value = json.loads(each["value"])
            outputs.append(
                SimpleNamespace(
                    topic=SINK, partition=each["partition"], offset=each["start_offset"],
                    source=value["source"], time=value["written"], producer=value["producer"],
                    transactional=value["transactional"],
                )
            )  # fmt: skip
    observed = [SimpleNamespace(**each) for each in s.observations]
    nemesis = [
        SimpleNamespace(**{"completed": None, "op": 0, **each})
        for each in s.operations
        if each["process"] == -1
    ]
    extents = [
        Extent(
            anomaly=name, topic="t", partition=0, count=len(at), first=round(time * S), last=round(time * S),
            low=at[0], high=at[-1],
        )
        for name, at, time in findings
    ]  # fmt: skip
    return RunEvidence(
        began=0,
        extents=extents,
        changes={},
        events=fault_events(nemesis, CLIENTS),
        clients=CLIENTS,
        application=application_of(inputs, outputs, observed),
    )


def cause(run: RunEvidence) -> Cause:
    (found,) = derive(run)
    return found


MISSING: Mapping[Callable[[Any], Any], tuple[Finding, str, str]] = {
    failing.outputs_in_the_producer: (
        ("missing-output", (15, 16, 17, 18, 19), 1.71), "commits before the outputs are acknowledged",
        "position 20 of t-0 was committed before its outputs were acknowledged: the inputs at 15 to 19",
    ),
    failing.commits_first: (
        ("missing-output", (15, 16, 17, 18, 19), 1.9), "commits before the work",
        "position 20 of t-0 was committed before its outputs were sent, usually 0.2 s later: the inputs at 15 to 19",
    ),
    failing.commits_by_timer: (
        ("missing-output", (70, 71, 72), 8.0), "enable.auto.commit while inputs wait",
        "position 73 of t-0 was committed by timer, every 1.0 s, before its outputs were acknowledged: the inputs at "
        "70 to 72",
    ),
    failing.errors_ignored: (
        ("missing-output", (10, 11, 12, 13, 14), 5.5), "ignores the results of sends",
        "position 15 of t-0 was committed all the same: the sends of 5 inputs failed, as app:0 printed; the inputs "
        "at 10 to 14",
    ),
    failing.ended_before_the_commit: (
        ("duplicate-output", (10, 11, 12, 13, 14), 8.2), "commits after the output, outside of a transaction",
        "the outputs of the inputs at 10 to 14 of t-0 were written, before the commit: position 10 was committed "
        "when app:0 was killed",
    ),
    failing.positions_beside_transactions: (
        ("duplicate-output", (10, 11, 12, 13, 14), 8.2), "positions outside of the transaction",
        "their positions are not part of it, before the commit: position 10 was committed when app:0 was killed",
    ),
    failing.appended_twice: (
        ("duplicate-output", (4,), 1.3), "retries of a producer without idempotence",
        "the output of the input at 4 of t-0 is sent once and written twice",
    ),
    failing.goes_on_with_a_revoked_partition: (
        ("duplicate-output", (10, 11, 12, 13, 14), 10.2), "goes on with a revoked partition",
        "the old owner, app:0, wrote 5 outputs of it after that",
    ),
    failing.commits_a_revoked_partition: (
        ("duplicate-output", (10, 11, 12, 13, 14), 1.8), "goes on with a revoked partition",
        "the old owner, app:0, committed a transaction with 5 outputs of it after that",
    ),
    failing.sends_overlap: (
        ("reordered-output", (6,), 1.37), "sends of one key overlap",
        "two sends of key-7 overlapped: the output of the input at 6 of t-0 was sent by app:0 10 ms after that of "
        "the input at 7",
    ),
    failing.sent_in_order_and_retried: (
        ("reordered-output", (6,), 1.36), "several requests in flight without idempotence",
        "the output of the input at 6 of t-0 (key-7) was sent before that of the input at 7, and lies behind it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("make", MISSING, ids=lambda make: make.__name__)
def test_a_defect_is_the_cause_of_its_findings(make: Callable[[Any], Any]) -> None:
    finding, kind, said = MISSING[make]
    found = cause(evidence(make(Story()), finding))
    assert found.name == kind
    assert found.changes == "application"
    assert any(said in step.text for step in found.steps), [step.text for step in found.steps]
    assert found.change


def test_the_story_has_the_fault_that_let_it_happen() -> None:
    for make in (failing.outputs_in_the_producer, failing.errors_ignored, failing.ended_before_the_commit):
        found = cause(evidence(make(Story()), MISSING[make][0]))
        assert [step for step in found.steps if step.is_fault], make.__name__
        assert found.faults, make.__name__


def test_samples_tell_no_habit() -> None:
    """A position is known to a quarter of a second: what comes first is not."""
    s = failing.commits_first(Story())
    for each in s.observations:
        each["kind"] = "group"
    run = evidence(s, MISSING[failing.commits_first][0])
    assert run.application is not None
    assert habit(run.application) is None
    assert cause(run).name == "commits before the outputs are acknowledged"


def test_a_position_that_the_old_owner_set_back_is_the_same_cause() -> None:
    s = failing.set_back_by_the_old_owner(Story())
    findings = [("duplicate-output", (*range(10, 15),), 10.2), ("duplicate-output", (*range(15, 20),), 17.2)]
    found = cause(evidence(s, *findings))
    assert found.name == "goes on with a revoked partition"
    assert any("the old owner, app:0, wrote 5 outputs of it after that" in step.text for step in found.steps)


def test_what_the_old_owner_committed_in_time_is_not_late() -> None:
    """The new owner went back, and nothing says why."""
    s = failing.commits_a_revoked_partition(Story(), time=1.55)
    assert cause(evidence(s, MISSING[failing.commits_a_revoked_partition][0])).kind == "unknown"


def test_outputs_and_positions_of_one_transaction_are_never_apart() -> None:
    """The position went back, and nothing says who did it: no crash can have come between output and position."""
    s = failing.set_back_by_the_old_owner(Story())
    s.operations = [
        each for each in s.operations if each["f"] != "output" or each["start_offset"] not in range(20, 25)
    ]
    for each in s.observations:
        value = json.loads(each["value"])
        if value.get("position") == 15:
            each["value"] = json.dumps(value | {"transaction": None})
    assert cause(evidence(s, ("duplicate-output", (*range(15, 20),), 17.2))).kind == "unknown"


def test_an_output_of_one_that_was_passed_is_no_repetition_of_a_crash() -> None:
    """The position had been committed when the instance was killed: something else went back."""
    s = failing.ended_before_the_commit(Story())
    failing.committed(s, 1.52, 15)
    found = cause(evidence(s, MISSING[failing.ended_before_the_commit][0]))
    assert found.kind == "unknown"


def test_outputs_of_the_owner_are_not_late() -> None:
    """The same records, of the new owner's producer alone: it was ended, and began again at its position."""
    s = failing.ended_before_the_commit(Story())
    found = cause(evidence(s, MISSING[failing.ended_before_the_commit][0]))
    assert found.name == "commits after the output, outside of a transaction"


def test_without_ids_of_producers_the_new_owner_reads_an_input_once() -> None:
    s = failing.goes_on_with_a_revoked_partition(Story())
    for each in s.operations:
        if each["f"] == "output":
            each["value"] = json.dumps(json.loads(each["value"]) | {"producer": None, "transactional": False})
    finding = MISSING[failing.goes_on_with_a_revoked_partition][0]
    found = cause(evidence(s, finding))
    assert found.name == "goes on with a revoked partition"
    assert any("the old owner, app:0, wrote 5 outputs of it after that" in step.text for step in found.steps)


def test_a_timer_is_not_taken_for_batches() -> None:
    run = evidence(failing.commits_by_timer(Story()), MISSING[failing.commits_by_timer][0])
    assert run.application is not None
    usual = habit(run.application)
    assert usual is not None
    assert usual.interval == pytest.approx(1.0)
    assert usual.late == pytest.approx(0.3, abs=0.05)
    assert ONE == 1 << 40
