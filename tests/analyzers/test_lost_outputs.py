"""Which inputs an application lost, by which defect, and what the story says of it. Needs no JVM.

Unless a test says otherwise, instance 0 wrote the outputs of the inputs at 0 to 9 and committed position 10. It
committed position 15 at 5 s, although the inputs at 10 to 14 have no output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analyzers.causes.application import Application, Commit, Event, Output, Turn
from analyzers.causes.evidence import RunEvidence
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
    ns,
    only_cause,
    printed,
    run_of,
    sent,
    story,
    turn,
)
from tests.support.cause_evidence import LOG, changes, sample

UNFLUSHED = "commits before the outputs are acknowledged"
IGNORED = "ignores the results of sends"

EARLIER = (commit(1.35, 10), commit(5, 15))


def lost(
    later: Mapping[int, Sequence[Output]] | None = None,
    *,
    commits: Sequence[Commit] = EARLIER,
    turns: Sequence[Turn] = (turn(0.5, 0),),
    events: Sequence[Event] = (),
    **more: Any,
) -> Application:
    """later: further outputs. more: of `inputs`."""
    outputs = {**each_sent(range(10), 1.3), **(later or {})}
    return Application(
        sink=SINK,
        inputs=inputs(20, outputs, **more),
        commits={LOG: commits},
        turns={LOG: turns},
        events=events,
    )


def run(application: Application, *events: FaultEvent) -> RunEvidence:
    return run_of(application, finding("missing-output", 10, 14, 5), events=events)


TOO_EARLY = (
    5.0,
    "position 15 of t-0 was committed before its outputs were acknowledged: "
    "the inputs at 10 to 14 never had any in o",
)
NOT_ENDED = (
    None,
    "why these outputs did not come is not determined: nothing is known to have ended app:0",
)
ALL_THE_SAME = "position 15 of t-0 was committed all the same: the sends of 5 inputs failed, "
FAILED = (5.0, f"{ALL_THE_SAME}as app:0 printed; the inputs at 10 to 14 never had an output in o")
UNSEEN = (5.0, f"{ALL_THE_SAME}or were never made; the inputs at 10 to 14 never had an output in o")
LIVED_ON = "app:0 lived on: it writes outputs of later inputs"


def test_a_kill_after_the_commit() -> None:
    found = only_cause(run(lost(), fault("kill-client", 5.1, 7)))
    assert (found.name, found.circumstances, found.faults) == (UNFLUSHED, (), ("kill-client@5.1",))
    assert story(found) == [TOO_EARLY, (5.1, "*app:0 is killed"), (7.0, "app:0 is started again")]


def test_an_end_by_itself_after_the_commit() -> None:
    """The fault that was at work when the inputs were sent did not lose their outputs."""
    found = only_cause(run(lost(events=[exited(5.1)]), fault("cpu-app", 4.0, 4.5)))
    assert (found.name, found.faults) == (UNFLUSHED, ())
    assert story(found) == [TOO_EARLY, (5.1, "*app:0 ended by itself with status 1")]


def test_no_end_is_known() -> None:
    found = only_cause(run(lost()))
    assert found.name == UNFLUSHED
    assert story(found) == [TOO_EARLY, NOT_ENDED]


@pytest.mark.parametrize(
    ("time", "is_it"), [(4.8, True), (4.8 - NS, False), (5.0, True), (50.0, True)], ids=str
)
def test_a_coordinator_may_write_a_commit_down_after_the_end(time: float, is_it: bool) -> None:
    found = only_cause(run(lost(events=[exited(time)])))
    assert (NOT_ENDED not in story(found)) == is_it


@pytest.mark.parametrize(
    ("later", "time"),
    [
        ({15: [sent(6.0)]}, None),
        ({15: [sent(6.0 + NS)]}, 6.0),
        ({9: [sent(7.0)]}, None),
        ({15: [sent(None)]}, None),
        ({15: [sent(7.5)], 16: [sent(7.2)], 17: [sent(7.8)]}, 7.2),
    ],
    ids=str,
)
def test_an_output_of_a_later_input_shows_that_the_instance_lived_on(
    later: dict[int, list[Output]], time: float | None
) -> None:
    found = only_cause(run(lost(later)))
    assert found.name == (UNFLUSHED if time is None else IGNORED)
    assert story(found) == ([TOO_EARLY, NOT_ENDED] if time is None else [UNSEEN, (time, LIVED_ON)])
    assert found.circumstances == (() if time is None else ("failed sends ignored",))


@pytest.mark.parametrize(
    ("end", "other", "time", "lived_on"),
    [
        (7.0, 9.0, 7.0 - NS, True),
        (7.0, 9.0, 7.0, False),
        (9.0, 7.0, 7.0 - NS, True),
        (9.0, 7.0, 7.0, False),
        (None, 7.0, 7.0 - NS, True),
        (None, 7.0, 7.0, False),
        (7.0, None, 7.0 - NS, True),
        (7.0, None, 7.0, False),
    ],
)
def test_an_output_after_the_end_or_of_another_owner_shows_nothing(
    end: float | None, other: float | None, time: float, lived_on: bool
) -> None:
    """other: when instance 1 gets the partition."""
    application = lost(
        {15: [sent(time)]},
        turns=[turn(0.5, 0), *([] if other is None else [turn(other, 1)])],
        events=[] if end is None else [exited(end)],
    )
    assert only_cause(run(application)).name == (IGNORED if lived_on else UNFLUSHED)


def test_it_lived_on_when_it_had_written_to_every_partition_of_the_lost_outputs() -> None:
    application = lost(
        {0: [sent(1.3, place=1)], 15: [sent(7.0)], 16: [sent(7.5, place=1)], 17: [sent(8.0, place=1)]}
    )
    assert story(only_cause(run(application))) == [UNSEEN, (7.5, LIVED_ON)]


def test_of_two_keys_only_one_may_be_overtaken() -> None:
    """The instance cannot reach the leader of partition 1, where the outputs of the second key belong."""
    application = lost({5: [sent(1.3, place=1)], 15: [sent(7.0)]})
    keyed = [replace(one, key=2 if one.offset in (5, 13, 14) else 1) for one in application.inputs[LOG]]
    application = replace(application, inputs={LOG: keyed})
    findings = finding("missing-output", 10, 12, 5), finding("missing-output", 13, 14, 5)
    found = run_of(application, *findings)
    assert only_cause(replace(found, extents=findings[:1])).name == IGNORED
    assert only_cause(replace(found, extents=findings[1:])).name == UNFLUSHED
    assert (5.0, TOO_EARLY[1].replace("10 to 14", "13 to 14")) in story(
        only_cause(replace(found, extents=findings[1:]))
    )


FED = 1.01
"""s, when the first of the lost inputs was fed."""


@pytest.mark.parametrize(
    ("event", "is_it"),
    [
        (printed(FED), True),
        (printed(FED - NS), False),
        (printed(6.0), True),
        (printed(6.0 + NS), False),
        (printed(5.0, instance=1), False),
        (printed(5.0, "UnknownTopicOrPartitionError"), False),
        (
            printed(5.0, "Caused by: org.apache.kafka.common.errors.TimeoutException: Expiring 5 records"),
            False,
        ),
        (printed(5.0, "Got NotLeaderForPartitionError on produce, retrying (3 attempts left)"), False),
        (printed(5.0, "CommitFailedError: reduce the maximum size of batches"), False),
        (printed(5.0, "KafkaTimeoutError: the maximum size of batches returned in poll()"), False),
        (Event(ns(5.0), "app:0", "started"), False),
    ],
    ids=str,
)
def test_a_failed_send_that_the_instance_printed_meanwhile(event: Event, is_it: bool) -> None:
    found = only_cause(run(lost(events=[event])))
    assert found.name == (IGNORED if is_it else UNFLUSHED)
    said = (round(event.time / 1e9, 3), f"app:0 printed: {event.line}")
    assert (said in story(found)) == (FAILED in story(found)) == is_it


@pytest.mark.parametrize(("times", "shown"), [((4.0, 4.9), 4.9), ((4.9, 5.05), 5.05), ((4.9, 5.2), 4.9)])
def test_the_failed_send_that_was_printed_next_to_the_commit_is_shown(
    times: Sequence[float], shown: float
) -> None:
    """The commit came at 5 s. Earlier lines may be of sends before these."""
    said = story(only_cause(run(lost(events=[printed(time) for time in times]))))
    assert [time for time, text in said if "printed: " in text] == [shown]


@pytest.mark.parametrize(
    ("unfed", "time", "is_it"),
    [
        ([10], 1.011, True),
        ([10], 1.011 - NS, False),
        (range(20), 5.0, True),
        (range(20), 5.0 - NS, False),
    ],
)
def test_what_was_printed_counts_from_when_an_input_is_known_to_be_fed(
    unfed: Sequence[int], time: float, is_it: bool
) -> None:
    """Otherwise from the commit on."""
    found = only_cause(run(lost(events=[printed(time)], unfed=unfed)))
    assert found.name == (IGNORED if is_it else UNFLUSHED)


@pytest.mark.parametrize(("time", "is_crash"), [(6.0, True), (6.0 + NS, False)])
def test_an_end_within_a_second_of_the_commit_lost_what_was_not_printed(time: float, is_crash: bool) -> None:
    """One of five failed sends was."""
    found = only_cause(run(lost(events=[printed(4.9), exited(time)])))
    assert found.name == (UNFLUSHED if is_crash else IGNORED)
    assert [text for _, text in story(found) if "ended by itself" in text] == (
        ["*app:0 ended by itself with status 1"] if is_crash else []
    )


@pytest.mark.parametrize(
    ("time", "owner", "starts", "counts"),
    [
        (1.0, 0, [1.0], True),
        (1.0 - NS, 0, [1.0], False),
        (1.0 - NS, 0, [0.5, 1.0], False),
        (6.0, 0, [1.0], True),
        (6.0 + NS, 0, [1.0], False),
        (5.0, 1, [1.0], False),
        (5.0, 0, [1.0, 5.0], True),
        (4.9, 0, [1.0, 5.0 + NS], True),
        (4.9, 0, [1.0, 5.0], False),
        (2.0, 0, [1.0, 3.0], False),
        (0.6, 0, [], True),
        (6.0 + NS, 0, [], False),
    ],
)
def test_a_process_prints_the_failed_sends_of_all_its_partitions(
    time: float, owner: int, starts: Sequence[float], counts: bool
) -> None:
    """Five sends failed, and the instance ended. Another commit passed two more inputs, of another partition. What
    the instance printed before its process began, and what others do, does not count."""
    events = [Event(ns(each), "app:0", "started") for each in starts]
    events += [Event(ns(4.5), "app:1", "started"), *[printed(0.9)] * 9 * bool(starts)]
    application = lost(events=[*events, *[printed(5.0)] * 5, exited(5.5)])
    application = replace(
        application,
        inputs={**application.inputs, **inputs(2, {}, log="t-1")},
        commits={**application.commits, "t-1": [commit(time, 2)]},
        turns={**application.turns, "t-1": [turn(0.5, owner)]},
    )
    assert only_cause(run(application)).name == (UNFLUSHED if counts else IGNORED)


@pytest.mark.parametrize(("time", "counts"), [(1.0, True), (1.0 - NS, False), (6.0, True), (6.0 + NS, False)])
def test_as_many_failed_sends_as_inputs_are_printed_from_the_start_of_the_process(
    time: float, counts: bool
) -> None:
    """Until a second after the commit. Four more are printed at the commit."""
    events = [Event(ns(1.0), "app:0", "started"), *[printed(5.0)] * 4, printed(time), exited(5.5)]
    assert only_cause(run(lost(events=events))).name == (IGNORED if counts else UNFLUSHED)


def test_failed_sends_of_earlier_inputs_say_nothing_of_these() -> None:
    """They were printed before these were fed."""
    application = lost(events=[*[printed(FED - NS)] * 5, exited(5.5)])
    assert only_cause(run(application)).name == UNFLUSHED


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("apart", "is_explained"), [(10.0, True), (10.0 - NS, False)])
def test_what_a_leader_of_the_sink_lost_is_no_loss_of_the_application(
    side: int, apart: float, is_explained: bool
) -> None:
    """The leader's log is cut at that time before or after the commit."""
    later = lost(commits=[commit(1.35, 10), commit(15, 15)])
    cut = changes(sample(0, 1, 1, 0, 30), sample(1, 1, 2, 1, 20))[LOG]
    cut = [replace(each, after=replace(each.after, time=ns(15 + side * apart))) for each in cut[1:]]
    found = replace(run(later), extents=[finding("missing-output", 10, 14, 15)])
    assert only_cause(replace(found, changes={"o-0": cut})).is_determined == is_explained
    assert only_cause(replace(found, changes={"o-0": [], "t-0": cut})).name == UNFLUSHED


def test_without_an_owner_nothing_is_known_of_its_end() -> None:
    assert not only_cause(run(lost(turns=[turn(5.0 + NS, 0)]))).is_determined
    assert only_cause(run(lost(turns=[turn(5.0, 0)]))).is_determined


def test_the_largest_loss_is_shown_with_the_faults_of_all() -> None:
    """Instance 0 is killed after its commit, then instance 1 after its own, which passed one input more."""
    application = replace(
        lost(
            commits=[commit(1.35, 10), commit(5, 12), commit(8, 15)],
            turns=[turn(0.5, 0), turn(6, 1)],
        )
    )
    kills = fault("kill-client", 5.1, 7), fault("kill-client", 8.1, 9, instance=1)
    findings = [finding("missing-output", 10, 11, 5), finding("missing-output", 12, 14, 8)]
    found = only_cause(run_of(application, *findings, events=kills))
    assert found.faults == ("kill-client@5.1", "kill-client@8.1")
    assert found.findings == {"missing-output": 5}
    assert story(found) == [
        (8.0, TOO_EARLY[1].replace("10 to 14", "12 to 14")),
        (8.1, "*app:1 is killed"),
        (9.0, "app:1 is started again"),
    ]


@pytest.mark.parametrize(("began", "ended", "is_it"), [
    (1.5, 2, True), (5.0, 6, True), (5.0 + NS, 6, False), (0.5, FED, True), (0.5, FED - NS, False),
])  # fmt: skip
def test_the_faults_while_an_instance_that_lived_on_sent(began: float, ended: float, is_it: bool) -> None:
    found = only_cause(run(lost({15: [sent(7)]}), fault("cpu-app", began, ended)))
    assert found.faults == ((f"cpu-app@{began:g}",) if is_it else ())


def test_two_faults_are_steps_and_all_are_named() -> None:
    faults = [fault("cpu-app", 2 + number / 10, 4) for number in range(3)]
    found = only_cause(run(lost({15: [sent(7)]}), *faults))
    assert len(found.faults) == 3
    assert sum(step.is_fault for step in found.steps) == 2


def test_positions_beside_transactions() -> None:
    application = lost(each_sent(range(10), 1.3, transactional=True))
    found = only_cause(run(application, fault("kill-client", 5.1, 7)))
    assert (found.name, found.circumstances) == (
        "positions outside of the transaction",
        ("positions committed beside transactions",),
    )
    assert story(found)[0] == (
        5.0,
        "position 15 of t-0 was committed in no transaction; the outputs of the inputs at 10 to 14 were in one that "
        "never took effect",
    )
