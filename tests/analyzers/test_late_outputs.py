"""Which outputs came from an instance that had lost their partition, and what the story says of it. Needs no JVM.

Unless a test says otherwise, instance 0 wrote the outputs of the inputs at 0 to 9, and committed position 10.
Instance 1 got the partition at 8 s, and wrote those at 10 to 14 at 9 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from analyzers.causes.application import Application, Commit, Event, Output, Turn
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Cause
from tests.support.application_evidence import (
    NS,
    SINK,
    commit,
    each_sent,
    exited,
    fault,
    finding,
    inputs,
    ns,
    only_cause,
    run_of,
    sent,
    story,
    turn,
)
from tests.support.cause_evidence import LOG

REVOKED = "goes on with a revoked partition"
FOUND = finding("duplicate-output", 10, 14, 9)
TURNS = turn(0.5, 0), turn(8, 1)


def application(
    outputs: Mapping[int, Sequence[Output]],
    *,
    commits: Sequence[Commit] = (),
    turns: Sequence[Turn] = TURNS,
    events: Sequence[Event] = (),
    by: int | None = 0,
) -> Application:
    """by: the instance that wrote the first outputs."""
    return Application(
        sink=SINK,
        inputs=inputs(20, {**each_sent(range(10), 1.3, by), **outputs}),
        commits={LOG: [commit(1.35, 10, 0), *commits]},
        turns={LOG: turns},
        events=events,
    )


def twice(*outputs: Output) -> dict[int, Sequence[Output]]:
    return dict.fromkeys(range(10, 15), outputs)


def cause(of: Application, *events: FaultEvent) -> Cause:
    return only_cause(run_of(of, FOUND, events=events))


LATE = twice(sent(9, 1), sent(10))
"""Instance 0 wrote them at 10 s."""


def test_an_old_owner_that_wrote() -> None:
    found = cause(application(LATE), fault("pause-client", 2, 9.5))
    assert (found.name, found.circumstances, found.faults) == (
        REVOKED,
        ("late outputs",),
        ("pause-client@2",),
    )
    assert story(found) == [
        (2.0, "*app:0 is frozen"),
        (8.0, "the owner of t-0 changed from app:0 to app:1"),
        (9.5, "app:0 continues"),
        (10.0, "the old owner, app:0, wrote 5 outputs of it after that"),
    ]


@pytest.mark.parametrize(("time", "is_late"), [(8.0, True), (8.0 - NS, False)])
def test_the_turn_of_the_next_owner_begins(time: float, is_late: bool) -> None:
    found = cause(application(twice(sent(time), sent(9, 1))))
    assert (found.name == REVOKED) == is_late
    assert ((8.0, "the old owner, app:0, wrote 5 outputs of it after that") in story(found)) == is_late


@pytest.mark.parametrize(
    ("turns", "is_late"),
    [
        ((turn(0.5, 2), turn(8, 1)), False),
        ((turn(0.5, 2), turn(8, 1), turn(20, 0)), False),
        ((turn(0.5, 2), turn(8, 0), turn(8, 1)), False),
        ((turn(0.5, 2), turn(8 - NS, 0), turn(8, 1)), True),
        ((turn(0.5, 0), turn(7, 2), turn(8, 1)), True),
        ((turn(0.5, 0), turn(8, 1), turn(9.5, 0)), False),
        ((turn(10 + NS, 0), turn(12, 1)), False),
    ],
)
def test_only_one_that_had_the_partition_before_goes_on_with_it(turns: Sequence[Turn], is_late: bool) -> None:
    """Instance 0 has another partition, too, which says whose producer it is."""
    one = application(LATE, turns=turns)
    one = replace(
        one,
        inputs={LOG: one.inputs[LOG], **inputs(20, each_sent(range(20), 1.3), log="t-1")},
        turns={LOG: turns, "t-1": [turn(0.5, 0)]},
    )
    assert (cause(one).name == REVOKED) == is_late


def test_an_output_of_an_unknown_time_is_not_late() -> None:
    assert cause(application(twice(sent(9, 1), sent(9.5, 1), sent(None)))).name != REVOKED


@pytest.mark.parametrize(
    ("events", "faults"),
    [
        ([fault("pause-client", 8, 9)], ["pause-client@8"]),
        ([fault("pause-client", 8 + NS, 9)], []),
        ([fault("cpu-app", 7, 9)], []),
        ([fault("isolate-app", 7, 9)], ["isolate-app@7"]),
        ([fault("stop-client", 7, 9)], ["stop-client@7"]),
        (
            [fault("kill-client", 5, 6), fault("kill-client", 7, 9), fault("kill-client", 6, 7)],
            ["kill-client@7", "kill-client@6"],
        ),
    ],
    ids=str,
)
def test_faults_before_the_change_of_owner(events: Sequence[FaultEvent], faults: Sequence[str]) -> None:
    assert [*cause(application(LATE), *events).faults] == faults


@pytest.mark.parametrize(("ended", "is_it"), [(10.0, True), (10.0 - NS, False)])
def test_a_fault_half_a_minute_before_the_change_of_owner(ended: float, is_it: bool) -> None:
    one = application(twice(sent(41, 1), sent(42)), turns=[turn(0.5, 0), turn(40, 1)])
    found = only_cause(
        run_of(one, finding("duplicate-output", 10, 14, 42), events=[fault("pause-client", 2, ended)])
    )
    assert bool(found.faults) == is_it


def test_all_outputs_of_the_old_owner_count_until_the_next_change() -> None:
    """Those of instance 1 do not, nor those before and after, nor those of an unknown time."""
    outputs = {
        9: [sent(7.9)],
        **{10 + number: [sent(9, 1), sent(10 + number / 10)] for number in range(5)},
        15: [sent(10.7)],
        16: [sent(10.8, None)],
        17: [sent(12)],
        18: [sent(None)],
    }
    one = application(outputs, turns=[*TURNS, turn(12, 2)])
    assert story(cause(one)) == [
        (8.0, "the owner of t-0 changed from app:0 to app:1"),
        (10.0, "the old owner, app:0, wrote 6 outputs of it after that; the last at 10.7 s"),
    ]


def test_of_several_changes_of_the_owner_that_with_most_outputs_is_told() -> None:
    outputs: dict[int, Sequence[Output]] = {offset: [sent(9, 1), sent(10)] for offset in range(10, 13)}
    outputs |= {offset: [sent(21), sent(22, 1)] for offset in range(13, 15)}
    one = application(outputs, turns=[*TURNS, turn(20, 0)])
    findings = finding("duplicate-output", 10, 12, 10), finding("duplicate-output", 13, 14, 22)
    found = only_cause(run_of(one, *findings))
    assert found.findings == {"duplicate-output": 5}
    assert story(found) == [
        (8.0, "the owner of t-0 changed from app:0 to app:1"),
        (10.0, "the old owner, app:0, wrote 3 outputs of it after that"),
    ]


@pytest.mark.parametrize(
    ("late", "is_late"),
    [
        (commit(8.0, 15, 0), True),
        (commit(8.0 - NS, 15, 0), False),
        (commit(8.5, 11, 0), True),
        (commit(8.5, 10, 0), False),
        (commit(8.5, 15, 1), False),
        (commit(8.5, 15), False),
        (commit(7.0, 15, 0), False),
    ],
    ids=str,
)
def test_an_old_owner_that_committed_its_transaction(late: Commit, is_late: bool) -> None:
    """It had written the output of the input at 10 before."""
    one = application({10: [sent(7, transactional=True), sent(9, 1)]}, commits=[late])
    found = only_cause(run_of(one, finding("duplicate-output", 10, 10, 9)))
    assert (found.name == REVOKED) == is_late
    if is_late:
        assert story(found) == [
            (8.0, "the owner of t-0 changed from app:0 to app:1"),
            (
                late.time / 1e9,
                "the old owner, app:0, committed a transaction with 1 output of it after that",
            ),
        ]


def test_a_late_transaction_of_another_instance_has_no_output_of_this_one() -> None:
    """Instance 2 had the partition first."""
    one = application(
        twice(sent(7, transactional=True), sent(9, 1)),
        commits=[commit(8.5, 15, 2)],
        turns=[turn(0.5, 2), turn(2, 0), turn(8, 1)],
        by=2,
    )
    assert cause(one).name != REVOKED


def test_transactions_that_were_committed_at_several_times() -> None:
    outputs = {10: [sent(7), sent(9, 1)], 11: [sent(7), sent(9, 1)]}
    one = application(outputs, commits=[commit(8.2, 11, 0), commit(8.7, 12, 0)])
    found = only_cause(run_of(one, finding("duplicate-output", 10, 11, 9)))
    assert story(found)[1] == (
        8.2,
        "the old owner, app:0, committed a transaction with 2 outputs of it after that; the last at 8.7 s",
    )


@pytest.mark.parametrize("time", [21.0, None])
def test_a_commit_before_an_output_is_not_that_of_the_output(time: float | None) -> None:
    """Instance 0 committed late, had the partition again, and wrote the output again."""
    one = application(
        twice(sent(9, 1, transactional=True), sent(19, 1), sent(time)),
        commits=[commit(8.5, 15, 0)],
        turns=[*TURNS, turn(20, 0)],
    )
    assert cause(one).name != REVOKED


AGAIN = [*TURNS, turn(20, 0)]
"""Instance 0 has the partition again."""


@pytest.mark.parametrize(
    ("passing", "back", "is_set_back"),
    [
        (commit(9.0, 11, 1), commit(10, 10, 0), True),
        (commit(9.0 - NS, 11, 1), commit(10, 10, 0), False),
        (commit(9.0, 10, 1), commit(10, 10, 0), False),
        (commit(9.0, 11, 1), commit(10, 11, 0), False),
        (commit(9.0, 11, 1), commit(10, 10, 1), False),
        (commit(9.0, 11, 1), commit(10, 10), False),
        (commit(9.0, 11, 1), commit(12, 10, 0), True),
        (commit(9.0, 11, 1), commit(12 + NS, 10, 0), False),
        (commit(10.0, 11, 1), commit(9.5, 10, 0), False),
    ],
)
def test_an_old_owner_that_sets_the_position_back(passing: Commit, back: Commit, is_set_back: bool) -> None:
    """The next owner had passed the input at 10, and wrote its output again at 12 s."""
    outputs = [sent(9, 1, transactional=True), sent(12, 1), sent(None, 1)]
    one = application({10: outputs}, commits=sorted([passing, back]))
    found = only_cause(run_of(one, finding("duplicate-output", 10, 10, 9)))
    assert (found.name == REVOKED) == is_set_back
    if is_set_back:
        assert story(found) == [
            (8.0, "the owner of t-0 changed from app:0 to app:1"),
            (back.time / 1e9, "the old owner, app:0, set the position back to 10"),
        ]


def test_an_old_owner_that_wrote_committed_and_set_the_position_back() -> None:
    outputs = {
        10: [sent(7, transactional=True), sent(9, 1), sent(12, 1)],
        11: [sent(9, 1), sent(12, 1)],
        12: [sent(9, 1), sent(12, 1)],
    }
    commits = commit(9.1, 20, 1), commit(10, 12, 0), commit(10.5, 11, 0)
    one = application(outputs, commits=commits)
    found = run_of(one, finding("duplicate-output", 10, 12, 9))
    assert story(only_cause(found))[1:] == [
        (10.0, "the old owner, app:0, committed a transaction with 1 output of it after that"),
        (10.0, "the old owner, app:0, set the position back to 12"),
    ]
    late = replace(one, inputs=inputs(20, {**each_sent(range(10), 1.3), **outputs, 15: [sent(9.5)]}))
    assert story(only_cause(replace(found, application=late)))[1:] == [
        (9.5, "the old owner, app:0, wrote 1 output of it after that"),
        (10.0, "the old owner, app:0, set the position back to 12"),
    ]


NO_ID = twice(sent(9, None), sent(10, None))


@pytest.mark.parametrize(
    ("outputs", "turns", "is_late"),
    [
        (NO_ID, TURNS, True),
        (twice(sent(9, None), sent(9 + NS, None)), TURNS, True),
        (twice(sent(9, None), sent(9, None)), TURNS, False),
        (twice(sent(9, None), sent(10, None), sent(11, None)), TURNS, True),
        (twice(sent(9, 5), sent(10, None), sent(11, None)), TURNS, False),
        (twice(sent(9, None), sent(10, 1)), TURNS, False),
        (twice(sent(9, 1), sent(10, 1)), TURNS, False),
        (twice(sent(7, None), sent(9, None)), TURNS, False),
        (twice(sent(7, None), sent(9, None)), [turn(0.5, 1), turn(2, 0), turn(8, 1)], False),
        (NO_ID, [turn(0.5, 0)], False),
        (NO_ID, [turn(0.5, 0), Turn(ns(8), "app:0", "m-2")], False),
        (NO_ID, [turn(0.5, 1), turn(2, 0), turn(8, 1)], True),
        (NO_ID, [turn(20, 0), turn(21, 1)], False),
    ],
)
def test_without_ids_of_producers_the_new_owner_reads_an_input_once(
    outputs: Mapping[int, Sequence[Output]], turns: Sequence[Turn], is_late: bool
) -> None:
    found = cause(application(outputs, turns=turns, by=None))
    assert (found.name == REVOKED) == is_late
    if is_late and outputs is NO_ID:
        assert story(found)[-1] == (10.0, "the old owner, app:0, wrote 5 outputs of it after that")


@pytest.mark.parametrize(
    ("event", "is_late"),
    [
        (exited(8, 1), False),
        (exited(8 - NS, 1), True),
        (exited(10, 1), False),
        (exited(10 + NS, 1), True),
        (exited(0.5), False),
        (exited(0.5 - NS), True),
        (exited(9), False),
        (exited(9 + NS), True),
    ],
    ids=str,
)
def test_one_that_ended_wrote_nothing_more_and_its_successor_may_begin_again(
    event: Event, is_late: bool
) -> None:
    found = cause(application(NO_ID, by=None, events=[event]))
    assert (found.name == REVOKED) == is_late
