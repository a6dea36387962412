"""Which outputs of a key changed places, by which defect, and what the story says of it. Needs no JVM.

Unless a test says otherwise, instance 0 has the partition, all inputs have key 7, and the output of the input at 6
lies behind that of the input at 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from analyzers.causes.application import Application, Output, Turn
from analyzers.causes.derive import derive
from analyzers.history.fault_events import FaultEvent
from analyzers.verdict.finding import Cause
from tests.support.application_evidence import (
    NS,
    SINK,
    commit,
    each_sent,
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

OVERLAP = "sends of one key overlap"
IN_FLIGHT = "several requests in flight without idempotence"
REVOKED = "goes on with a revoked partition"

FOUND = finding("reordered-output", 6, 6, 3)
TURNS = turn(0.5, 0), turn(8, 1)


def application(
    late: Sequence[Output],
    early: Sequence[Output],
    more: Mapping[int, Sequence[Output]] | None = None,
    *,
    turns: Sequence[Turn] = TURNS[:1],
    key: int | None = 7,
) -> Application:
    """late, early: outputs of the inputs at 6 and 7. more: of later ones."""
    outputs = {**each_sent(range(6), 1.3), 6: late, 7: early, **(more or {})}
    return Application(
        sink=SINK, inputs=inputs(10, outputs, key=key), commits={LOG: [commit(4, 10)]}, turns={LOG: turns}
    )


def cause(of: Application, *events: FaultEvent, time: float = 3) -> Cause:
    return only_cause(run_of(of, finding("reordered-output", 6, 6, time), events=events))


SENDS = "two sends of key-7 overlapped: the output of the input at 6 of t-0 was sent by app:0 "


@pytest.mark.parametrize(
    ("late", "early", "name", "said"),
    [
        (sent(3.01, at=7), sent(3, at=6), OVERLAP, "10 ms after that of the input at 7, which comes after it"),
        (sent(3, at=7), sent(3, at=6), OVERLAP, "at the same time as that of the input at 7, which comes after it"),
        (
            sent(3, 1, at=7), sent(3.2, at=6), OVERLAP,
            "0.2 s before that of the input at 7, which comes after it and has another producer",
        ),
        (
            sent(3, None, at=7), sent(3 + NS, at=6), OVERLAP,
            "below 1 ms before that of the input at 7, which comes after it and has another producer",
        ),
        (
            sent(3.01, None, at=7), sent(3, None, at=6), OVERLAP,
            "10 ms after that of the input at 7, which comes after it",
        ),
        (
            sent(3, None, at=7), sent(3, None, at=6), OVERLAP,
            "at the same time as that of the input at 7, which comes after it",
        ),
        (sent(3 - NS, at=7), sent(3, at=6), "", ""),
        (sent(3 - NS, None, at=7), sent(3, None, at=6), IN_FLIGHT, ""),
    ],
)  # fmt: skip
def test_sends_that_overlap(late: Output, early: Output, name: str, said: str) -> None:
    found = cause(application([late], [early]), time=(late.time or 0) / 1e9)
    assert found.name == name
    if said:
        assert (found.circumstances, story(found)) == ((), [(3.0, SENDS + said)])


def test_a_request_that_was_retried_behind_the_next() -> None:
    found = cause(application([sent(3, None, at=7, place=2)], [sent(3.1, None, at=6, place=2)]))
    assert (found.name, found.circumstances) == (IN_FLIGHT, ("sent in order",))
    assert story(found) == [
        (
            3.1,
            "the output of the input at 6 of t-0 (key-7) was sent before that of the input at 7, and lies behind it "
            "in o-2",
        )
    ]


@pytest.mark.parametrize(
    ("late", "early", "is_swap"),
    [
        ([sent(3, at=7)], [sent(3, at=6)], True),
        ([sent(3, at=6)], [sent(3, at=7)], False),
        ([sent(3, at=7)], [sent(3, at=6, place=1)], False),
        ([sent(None, at=7)], [sent(3, at=6)], False),
        ([sent(3, at=7)], [sent(None, at=6)], False),
        ([sent(0.5 - NS, at=7)], [sent(0.5, at=6)], False),
        ([sent(3, at=7)], [sent(0.5 - NS, at=6)], False),
        ([sent(3, at=5), sent(3, at=8)], [sent(3, at=6)], False),
        ([sent(3, at=8), sent(3, at=5)], [sent(3, at=6)], False),
        ([sent(3, at=8), sent(3, at=7)], [sent(3, at=6)], True),
        ([sent(3, at=7)], [sent(3, at=8), sent(3, at=6)], True),
        ([sent(None, at=5), sent(3, at=7, place=1)], [sent(3, at=6, place=1)], True),
        ([sent(0.4, at=5), sent(3, at=7, place=1)], [sent(3, at=6, place=1)], True),
        ([sent(None, at=5), sent(3, at=7)], [sent(3, at=6)], False),
    ],
    ids=str,
)
def test_the_first_outputs_in_a_partition_are_compared(
    late: Sequence[Output], early: Sequence[Output], is_swap: bool
) -> None:
    assert cause(application(late, early)).is_determined == is_swap


def test_outputs_of_two_keys_or_of_none_have_no_order() -> None:
    one = application([sent(3, at=7)], [sent(3, at=6)])
    other = [replace(each, key=8 if each.offset == 7 else 7) for each in one.inputs[LOG]]
    assert not cause(replace(one, inputs={LOG: other})).is_determined
    assert not cause(application([sent(3, at=7)], [sent(3, at=6)], key=None)).is_determined


def test_the_next_input_that_overtook_is_named() -> None:
    """Before it come one that did not, and one of an unknown time."""
    more = {8: [sent(None, at=6)], 9: [sent(3.5, at=5)]}
    found = cause(application([sent(4, at=7)], [sent(3, at=8)], more), time=4)
    assert story(found) == [(3.5, f"{SENDS}0.5 s after that of the input at 9, which comes after it")]


def test_all_that_one_input_overtook_are_explained() -> None:
    """The one that was sent first is shown."""
    one = application([sent(4, at=7)], [sent(3.6, at=8)], {8: [sent(3.5, at=6)]})
    found = only_cause(
        run_of(one, finding("reordered-output", 6, 6, 4), finding("reordered-output", 7, 7, 3.6))
    )
    assert found.findings == {"reordered-output": 2}
    assert story(found)[0] == (
        3.5,
        "two sends of key-7 overlapped: the output of the input at 7 of t-0 was sent by app:0 0.1 s after that of "
        "the input at 8, which comes after it",
    )


@pytest.mark.parametrize("time", [8.0, 8.0 - NS])
def test_outputs_of_two_owners_do_not_overlap(time: float) -> None:
    """The first owner wrote in its time, and the second in its own. Nothing says why it wrote the earlier one."""
    one = application([sent(9, 1, at=7)], [sent(time, 1, at=6)], turns=TURNS)
    assert cause(one, time=9).is_determined == (time == 8.0)


@pytest.mark.parametrize(
    ("late", "early", "time"),
    [
        (sent(10, at=7), sent(9, 1, at=6), 10.0),
        (sent(9, 1, at=7), sent(8.5, at=6), 8.5),
    ],
)
def test_an_old_owner_that_goes_on_changes_the_order(late: Output, early: Output, time: float) -> None:
    one = application([late], [early], {8: [sent(9, 1, at=8)], 9: [sent(9, 1, at=9)]}, turns=TURNS)
    found = cause(one, fault("pause-client", 2, 8.2), time=(late.time or 0) / 1e9)
    assert (found.name, found.circumstances, found.faults) == (
        REVOKED,
        ("late outputs",),
        ("pause-client@2",),
    )
    assert story(found) == [
        (2.0, "*app:0 is frozen"),
        (8.0, "the owner of t-0 changed from app:0 to app:1"),
        (8.2, "app:0 continues"),
        (time, "the old owner, app:0, wrote 1 output of it after that"),
    ]


@pytest.mark.parametrize(
    ("late", "back", "name"),
    [
        (10, 9.5, REVOKED),
        (10, 10, REVOKED),
        (10, 9, OVERLAP),
        (10, 10 + NS, OVERLAP),
        (9, 9.5, OVERLAP),
        (9 - NS, 9.5, REVOKED),
    ],
)
def test_an_old_owner_whose_own_sends_overlap(late: float, back: float, name: str) -> None:
    """Instance 0 sent the output of the input at 7 at 9 s, and got the partition back at `back`."""
    one = application([sent(late, at=7)], [sent(9, at=6)], turns=(*TURNS, turn(back, 0)))
    found = cause(one, time=late)
    assert found.name == name
    if name == OVERLAP:
        assert story(found)[0][1].startswith(SENDS)


@pytest.mark.parametrize("early", [7.0, 9.0])
def test_a_change_of_the_owner_between_sends_that_overlap(early: float) -> None:
    """The old owner sent the other output before, or in the moment in which it got the partition back."""
    turns = (*TURNS, turn(9, 0), turn(9.2, 1)) if early == 9 else TURNS
    found = cause(application([sent(10, at=7)], [sent(early, at=6)], turns=turns), time=10)
    assert found.name == OVERLAP


def test_without_ids_of_producers_nobody_knows_who_sent_in_two_turns() -> None:
    one = application([sent(9, None, at=7)], [sent(7, None, at=6)], turns=TURNS)
    assert not cause(one, time=9).is_determined


def test_each_defect_has_its_own_story() -> None:
    """The requests were sent later than the sends that overlapped."""
    more = {8: [sent(3.5, None, at=9)], 9: [sent(3.6, None, at=8)]}
    one = application([sent(3, at=7)], [sent(3, at=6)], more)
    found = derive(run_of(one, FOUND, finding("reordered-output", 8, 8, 3.5)))
    assert [(each.name, each.findings) for each in found] == [
        (OVERLAP, {"reordered-output": 1}),
        (IN_FLIGHT, {"reordered-output": 1}),
    ]
    assert [each.steps[0].time for each in found] == [3.0, 3.6]


def test_a_second_output_of_an_unknown_time_is_of_no_old_owner() -> None:
    one = application([sent(9, None, at=7), sent(None, None, at=20)], [sent(9.5, None, at=6)], turns=TURNS)
    assert cause(one, time=9).name == IN_FLIGHT
