"""Which outputs an application repeated, by which defect, and what the story says of it. Needs no JVM.

Unless a test says otherwise, instance 0 wrote the outputs of the inputs at 0 to 9, committed position 10, and wrote
those at 10 to 14 at 2 s. Instance 1 got the partition at 8 s and wrote them again at 9 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analyzers.causes.application import Application, Commit, Event, Output, Turn
from analyzers.causes.derive import derive
from analyzers.causes.evidence import Extent, RunEvidence
from analyzers.history.fault_events import FaultEvent
from tests.support.application_evidence import (
    NS,
    SINK,
    commit,
    each_sent,
    exited,
    fault,
    finding,
    inputs,
    only_cause,
    run_of,
    sent,
    story,
    turn,
)
from tests.support.cause_evidence import LOG

AFTER_OUTPUT = "commits after the output, outside of a transaction"
RETRIED = "retries of a producer without idempotence"
OUTSIDE = "positions outside of the transaction"

EARLIER = commit(1.35, 10)
TURNS = turn(0.5, 0), turn(8, 1)
FOUND = finding("duplicate-output", 10, 14, 9)
KILL = fault("kill-client", 2.5, 4)

Outputs = Mapping[int, Sequence[Output]]


def twice(
    first: Sequence[Output], second: Sequence[Output], offsets: Sequence[int] = range(10, 15)
) -> Outputs:
    return {offset: [*first, *second] for offset in offsets}


def repeated(
    outputs: Outputs | None = None,
    *,
    commits: Sequence[Commit] = (EARLIER,),
    turns: Sequence[Turn] = TURNS,
    events: Sequence[Event] = (),
    **more: Any,
) -> Application:
    """outputs: further ones. more: of the first ten."""
    first = each_sent(range(10), 1.3, **more)
    return Application(
        sink=SINK,
        inputs=inputs(20, {**first, **(twice([sent(2)], [sent(9, 1)]) if outputs is None else outputs)}),
        commits={LOG: commits},
        turns={LOG: turns},
        events=events,
    )


def run(application: Application, *events: FaultEvent, of: Extent = FOUND) -> RunEvidence:
    return run_of(application, of, events=events)


WRITTEN = "the outputs of the inputs at 10 to 14 of t-0 were written, before the commit: "
AGAIN = (9.0, "app:1 begins there and writes 5 outputs again")


@pytest.mark.parametrize(
    ("name", "words", "again"),
    [
        ("kill-client", "was killed", "is started again"),
        ("stop-client", "was asked to end", "is started again"),
        ("pause-client", "was frozen", "continues"),
    ],
)
def test_a_fault_before_the_commit(name: str, words: str, again: str) -> None:
    found = only_cause(run(repeated(), fault(name, 2.5, 4)))
    assert (found.name, found.circumstances, found.faults) == (AFTER_OUTPUT, (), (f"{name}@2.5",))
    steps = story(found)
    assert steps[0] == (2.0, f"{WRITTEN}position 10 was committed when app:0 {words}")
    assert steps[1][1].startswith("*app:0 is ")
    assert steps[2:] == [(4.0, f"app:0 {again}"), AGAIN]


def test_an_instance_that_is_cut_off_before_the_commit() -> None:
    found = only_cause(run(repeated(), fault("isolate-app", 2.5, 12)))
    assert story(found)[0] == (
        2.0,
        f"{WRITTEN}position 10 was committed when app:0 was cut off from the brokers",
    )


def test_an_end_by_itself_before_the_commit() -> None:
    found = only_cause(run(repeated(events=[exited(2.5)], commits=[])))
    assert (found.name, found.faults) == (AFTER_OUTPUT, ())
    ended = "app:0 ended by itself with status 1"
    assert story(found) == [
        (2.0, f"{WRITTEN}none was committed when {ended}"),
        (2.5, f"*{ended}"),
        AGAIN,
    ]


def test_another_owner_before_the_commit() -> None:
    found = only_cause(run(repeated()))
    assert (found.name, found.faults) == (AFTER_OUTPUT, ())
    assert story(found) == [
        (2.0, f"{WRITTEN}position 10 was committed when t-0 got another owner"),
        (8.0, "*t-0 gets another owner"),
        AGAIN,
    ]


def test_an_instance_that_begins_again_itself() -> None:
    found = only_cause(run(repeated(twice([sent(2)], [sent(9)]), turns=TURNS[:1]), KILL))
    assert story(found)[-1] == (9.0, "app:0 begins there and writes 5 outputs again")


def test_a_fault_that_began_before_the_output_is_shown_first() -> None:
    """It was frozen for a while after the output, and before."""
    found = only_cause(run(repeated(), fault("pause-client", 1.9, 8.5)))
    assert story(found)[:2] == [
        (1.9, "*app:0 is frozen"),
        (1.9, f"{WRITTEN}position 10 was committed when app:0 was frozen"),
    ]


@pytest.mark.parametrize(
    ("began", "ended", "faults"),
    [
        (9.0, 10.0, ("pause-client@9",)),
        (9.0 + NS, 10.0, ()),
        (1.0, 2.0, ("pause-client@1",)),
        (1.0, 2.0 - NS, ()),
    ],
)
def test_a_hold_between_the_outputs(began: float, ended: float, faults: tuple[str, ...]) -> None:
    found = only_cause(run(repeated(), fault("pause-client", began, ended)))
    assert (found.name, found.faults) == (AFTER_OUTPUT, faults)


@pytest.mark.parametrize(
    ("time", "is_between"), [(2.0, True), (2.0 - NS, False), (9.0, True), (9.0 + NS, False)], ids=str
)
def test_an_end_between_the_outputs(time: float, is_between: bool) -> None:
    application = repeated(twice([sent(2)], [sent(9)]), turns=TURNS[:1], events=[exited(time)])
    assert only_cause(run(application)).is_determined == is_between


@pytest.mark.parametrize(("time", "is_between"), [(9.0, True), (9.0 + NS, False)])
def test_another_owner_between_the_outputs(time: float, is_between: bool) -> None:
    found = only_cause(run(repeated(turns=[turn(0.5, 0), turn(time, 1)])))
    assert found.is_determined == is_between


def test_an_owner_that_comes_after_the_second_output_is_not_the_one_that_wrote_it() -> None:
    """It was killed and began again, and got no position of its own committed before another one came."""
    application = repeated(twice([sent(2)], [sent(7)]), commits=[EARLIER, commit(7.5, 15)])
    found = only_cause(run(application, KILL, of=finding("duplicate-output", 10, 14, 7)))
    assert found.name == AFTER_OUTPUT
    assert story(found)[-1] == (7.0, "app:0 begins there and writes 5 outputs again")


def test_the_next_owner_begins_where_the_position_is_when_it_comes() -> None:
    """The kill came before a commit that its instance had sent."""
    application = repeated(twice([sent(2)], [sent(9, 1)]), commits=[EARLIER, commit(2.6, 12)])
    found = only_cause(run(application, KILL, of=finding("duplicate-output", 12, 14, 9)))
    assert story(found)[0] == (
        2.0,
        "the outputs of the inputs at 12 to 14 of t-0 were written, before the commit: position 12 was committed "
        "when app:0 was killed",
    )


@pytest.mark.parametrize(("position", "is_explained"), [(10, True), (11, False)])
def test_an_input_that_was_passed_is_not_read_again_by_the_next_owner(
    position: int, is_explained: bool
) -> None:
    one = finding("duplicate-output", 10, 10, 9)
    found = only_cause(run(repeated(commits=[commit(2.2, position)]), KILL, of=one))
    assert found.is_determined == is_explained


def test_without_an_owner_nothing_is_known_of_what_came_between() -> None:
    assert not only_cause(run(repeated(turns=[turn(2 + NS, 0), TURNS[1]]), KILL)).is_determined


@pytest.mark.parametrize(
    ("outputs", "is_explained"),
    [
        ([sent(2), sent(None, 1)], False),
        ([sent(2)], False),
        ([sent(2), sent(9, 1), sent(None, 1)], True),
        ([sent(2), sent(8.5, 1), sent(9, 1)], True),
    ],
)
def test_outputs_of_unknown_times_explain_nothing(outputs: Sequence[Output], is_explained: bool) -> None:
    found = only_cause(run(repeated(twice(outputs, [])), KILL))
    assert found.is_determined == is_explained


@pytest.mark.parametrize(
    ("is_inside", "transactional", "is_explained"),
    [(True, True, False), (True, False, True), (False, True, True), (False, False, True)],
)
def test_outputs_and_positions_of_one_transaction(
    is_inside: bool, transactional: bool, is_explained: bool
) -> None:
    outputs = twice([sent(2, transactional=transactional)], [sent(9, 1, transactional=not transactional)])
    application = repeated(outputs, commits=[commit(1.35, 10, 0 if is_inside else None)])
    assert only_cause(run(application, KILL)).is_determined == is_explained


@pytest.mark.parametrize(
    ("outputs", "name"),
    [
        ([sent(3, None), sent(3, None)], RETRIED),
        ([sent(3, None), sent(3 + NS, None)], ""),
        ([sent(3), sent(3)], ""),
        ([sent(3, None), sent(3)], ""),
        ([sent(3, None), sent(3, None), sent(4, None)], RETRIED),
    ],
)
def test_one_record_that_was_written_twice(outputs: Sequence[Output], name: str) -> None:
    found = only_cause(run(repeated(twice(outputs, [])), of=finding("duplicate-output", 10, 14, 3)))
    assert found.name == name
    if name:
        assert (found.circumstances, found.faults) == (("sent once",), ())
        assert story(found) == [(3.0, "the output of the input at 10 of t-0 is sent once and written twice")]


def test_the_first_record_that_was_written_twice() -> None:
    outputs = {10: [sent(4, None)] * 2, 11: [sent(3, None)] * 2, 12: [sent(5, None)] * 2}
    application = repeated(outputs)
    findings = finding("duplicate-output", 10, 10, 4), finding("duplicate-output", 11, 12, 3)
    found = only_cause(run_of(application, *findings))
    assert story(found)[0] == (3.0, "the output of the input at 11 of t-0 is sent once and written twice")


def test_each_defect_has_its_own_story() -> None:
    outputs = {**twice([sent(2)], [sent(9, 1)]), 15: [sent(9.5, None)] * 2}
    found = derive(run_of(repeated(outputs), FOUND, finding("duplicate-output", 15, 15, 9.5), events=[KILL]))
    assert [cause.name for cause in found] == [AFTER_OUTPUT, RETRIED]
    assert [(len(cause.steps), cause.faults) for cause in found] == [(4, ("kill-client@2.5",)), (1, ())]
    assert story(found[1]) == [(9.5, "the output of the input at 15 of t-0 is sent once and written twice")]


def test_two_breaks() -> None:
    """The larger one is shown that a fault made; the faults of both are named."""
    outputs = {
        **twice([sent(2)], [sent(9, 1)], range(10, 12)),
        **twice([sent(9.5, 1)], [sent(12, 1)], range(12, 15)),
        **twice([sent(12.5, 1)], [sent(21)], range(15, 20)),
    }
    application = repeated(outputs, turns=[*TURNS, turn(20, 0)])
    findings = [
        finding("duplicate-output", 10, 11, 9),
        finding("duplicate-output", 12, 14, 12),
        finding("duplicate-output", 15, 19, 21),
    ]
    events = KILL, fault("kill-client", 10, 11, instance=1)
    found = only_cause(run_of(application, *findings, events=events))
    assert (found.name, found.findings) == (AFTER_OUTPUT, {"duplicate-output": 10})
    assert found.faults == ("kill-client@2.5", "kill-client@10")
    assert story(found) == [
        (
            9.5,
            "the outputs of the inputs at 12 to 14 of t-0 were written, before the commit: position 10 was committed "
            "when app:1 was killed",
        ),
        (10.0, "*app:1 is killed"),
        (11.0, "app:1 is started again"),
        (12.0, "app:1 begins there and writes 3 outputs again"),
    ]


def test_outputs_that_were_not_written_at_the_same_time() -> None:
    """They were before the commit when the last one was written, and again when the first one was."""
    outputs = {10 + number: [sent(2 + number / 10), sent(9 + number / 10, 1)] for number in range(5)}
    found = only_cause(run(repeated(outputs), KILL, of=finding("duplicate-output", 10, 14, 9.2)))
    assert story(found)[0][0] == 2.4
    assert story(found)[-1] == AGAIN


def test_positions_beside_transactions() -> None:
    outputs = twice([sent(2, transactional=True)], [sent(9, 1, transactional=True)])
    application = repeated(outputs, transactional=True)
    found = only_cause(run(application, KILL))
    assert (found.name, found.circumstances, found.faults) == (
        OUTSIDE,
        ("positions committed beside transactions",),
        ("kill-client@2.5",),
    )
    assert story(found)[0] == (
        2.0,
        "the outputs of the inputs at 10 to 14 of t-0 were written in a transaction that ended, and their positions "
        "are not part of it, before the commit: position 10 was committed when app:0 was killed",
    )


def test_positions_beside_transactions_where_nothing_is_known_to_have_come_between() -> None:
    outputs = {10: [sent(3, transactional=True), sent(9, transactional=True)]}
    outputs[11] = [sent(2, transactional=True), sent(9, transactional=True)]
    application = replace(repeated(outputs, transactional=True), turns={LOG: TURNS[:1]})
    found = only_cause(run(application, of=finding("duplicate-output", 10, 11, 9)))
    assert (found.name, found.faults) == (OUTSIDE, ())
    assert story(found) == [(2.0, "outputs are in transactions, and positions are committed beside them")]
