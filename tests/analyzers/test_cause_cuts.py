"""Which cuts of logs explain findings, at the limits of each rule. Needs no JVM."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.causes.evidence import Change, Extent, RunEvidence, Sample
from analyzers.causes.explainers.truncation import truncations
from analyzers.history.surroundings import LogLine
from analyzers.verdict.finding import Cause
from tests.support.cause_evidence import (
    FOLLOWS,
    ISOLATED,
    LOG,
    LOST,
    NEW,
    OLD,
    changes,
    cut,
    evidence,
    extent,
    fault,
    first_cause,
    of_log,
    sample,
    stale,
    texts,
)


def test_all_anomalies_that_a_cut_can_show_as_are_under_it() -> None:
    names = {
        "lost-write", "offset-reuse", "inconsistent-offsets", "read-your-writes", "monotonic-reads",
        "monotonic-writes", "writes-follow-reads", "nonmonotonic-poll", "int-nonmonotonic-poll", "poll-skip",
        "int-poll-skip", "nonmonotonic-send", "int-nonmonotonic-send", "realtime-order", "torn-transaction",
        "wrong-total",
    }  # fmt: skip
    cause = cut(*map(extent, sorted(names)), extent("duplicate"), of=ISOLATED)
    assert cause is not None
    assert cause.findings.keys() == names


def test_a_cut_explains_what_lies_at_or_above_it() -> None:
    below = extent("poll-skip", low=3, high=9)
    at = extent("monotonic-reads", low=3, high=10)
    unplaced = extent("realtime-order", low=None, high=None)
    cause = cut(LOST, below, at, unplaced, of=ISOLATED)
    assert cause is not None
    assert cause.findings.keys() == {"lost-write", "monotonic-reads", "realtime-order"}


def test_only_a_placed_loss_or_reuse_confirms_a_cut() -> None:
    assert cut(replace(LOST, low=None, high=None), of=ISOLATED) is None
    assert cut(replace(LOST, high=None), of=ISOLATED) is None
    assert cut(replace(LOST, low=None), of=ISOLATED) is None
    mixed = cut(replace(LOST, low=None, high=None), extent("offset-reuse"), of=ISOLATED)
    assert mixed is not None
    assert mixed.findings == {"lost-write": 10, "offset-reuse": 10}
    assert cut(extent("lost-write", low=19, high=19), of=ISOLATED) is not None
    assert cut(extent("lost-write", low=20, high=20), of=ISOLATED) is None
    assert cut(extent("lost-write", low=10, high=10), of=ISOLATED) is not None
    assert cut(extent("lost-write", low=9, high=9), of=ISOLATED) is None


def test_the_cut_of_a_leader_with_the_most_findings_comes_first() -> None:
    """Broker 3, a follower, lost more than either leader; broker 2 lost less than broker 1."""
    of = changes(
        sample(1, 1, 1, 0, 5), sample(2, 3, 1, 0, 40), sample(3, 3, 1, 0, 5), sample(6, 2, 2, 1, 10),
        sample(7, 1, 1, 0, 20),
        sample(9, 1, 2, 1, 10), sample(10, 2, 2, 1, 18), sample(11, 3, 3, 2, 16), sample(12, 2, 3, 2, 16),
        sample(13, 3, 3, 2, 18), sample(14, 3, 1, 3, 16),
    )  # fmt: skip
    cause = cut(LOST, of=of)
    assert cause is not None
    assert [(each.node, each.log_end, each.offset, each.time) for each in cause.cuts] == [
        (1, 20, 10, 9.0), (2, 18, 16, 12.0), (3, 18, 16, 14.0), (3, 40, 5, 3.0),
    ]  # fmt: skip
    assert cause.election is not None
    assert (cause.election.leader, cause.election.epoch) == (2, 1)


def test_the_last_sample_before_a_cut_counts_also_if_it_showed_nothing_new() -> None:
    """From 6 to 8 s, broker 1 went on to lead, and its high watermark grew."""
    before, last = sample(6, 1, 1, 0, 5, mark=5), sample(8, 1, 1, 0, 20, mark=20)
    of = [Change(before=None, after=before), Change(before=last, after=sample(9, 1, 2, 1, 10))]
    cause = cut(LOST, of={LOG: of})
    assert cause is not None
    assert cause.circumstances == ()


def test_of_two_cuts_the_larger_comes_first_and_of_equal_ones_the_earlier() -> None:
    small_first = changes(
        sample(1, 2, 2, 0, 20), sample(2, 1, 1, 1, 18), sample(3, 2, 1, 1, 18), sample(4, 1, 1, 1, 20),
        sample(5, 3, 3, 2, 10),
        sample(6, 1, 3, 2, 10),
    )  # fmt: skip
    cause = cut(LOST, of=small_first)
    assert cause is not None
    assert [(each.node, each.offset) for each in cause.cuts] == [(1, 10), (2, 18)]
    twice = changes(
        sample(1, 1, 1, 0, 20), sample(2, 2, 2, 1, 20), sample(3, 1, 2, 1, 10), sample(4, 2, 1, 2, 10),
        sample(5, 1, 1, 2, 20),
        sample(6, 1, 2, 3, 10),
    )  # fmt: skip
    cause = cut(LOST, of=twice)
    assert cause is not None
    assert [(each.node, each.time) for each in cause.cuts] == [(2, 4.0), (1, 6.0)]


def test_faults_from_the_first_finding_to_the_cut_are_named() -> None:
    events = [fault("early", 1, 3), fault("kill", 4, 5, nodes=(3,)), fault("stop", 5, 7, nodes=(1,)),
              fault("pause", 7, 9, nodes=(3,)), fault("late", 10, 12)]  # fmt: skip
    late, untimed = extent("offset-reuse", first=7), replace(extent("poll-skip"), first=None)
    cause = cut(LOST, late, untimed, of=ISOLATED, events=events)
    assert cause is not None
    assert cause.faults == ("kill-0", "stop-0", "pause-0")
    assert [text for text in texts(cause) if "broker 1 (" in text or "again" in text] == [
        "broker 1 (leader of t-0, epoch 0) is stopped", "broker 1 is started again"
    ]  # fmt: skip
    others = cut(LOST, of=ISOLATED, events=[*events[:2], *events[3:4], fault("wipe", 8, 9, nodes=(4,))])
    named = [text for text in texts(others) if text.startswith(("broker 3", "broker 4"))]
    assert named == [
        "broker 3 is killed", "broker 3 is started again", "broker 3 is frozen", "broker 3 continues"
    ], "two faults at most"  # fmt: skip


def test_a_fault_is_on_the_leader_if_the_replica_that_was_cut_led_when_it_began() -> None:
    again = changes(*(each.after for each in ISOLATED[LOG]), sample(12, 1, 1, 2, 10))
    assert "broker 3 is killed" in texts(cut(LOST, of=again, events=[fault("kill", 4, 6, nodes=(3,))]))
    assert "broker 1 is killed" in texts(cut(LOST, of=ISOLATED, events=[fault("kill", 0, 6, nodes=(1,))]))
    taken_over = changes(sample(0, 2, 2, -1, 5), *(each.after for each in ISOLATED[LOG]))
    assert "broker 1 is killed" in texts(cut(LOST, of=taken_over, events=[fault("kill", 0, 6, nodes=(1,))]))


def test_an_end_at_an_unknown_time_comes_last() -> None:
    kill = fault("kill", 4, 6, nodes=(1,))
    assert kill.heal is not None
    unknown = replace(kill, heal=replace(kill.heal, completed=None, effective=False))
    for cause in (cut(LOST, of=ISOLATED, events=[unknown]),
                  stale(extent("monotonic-reads"), of=ISOLATED, events=[unknown])):  # fmt: skip
        assert texts(cause)[-1] == "the fault kill is not known to be healed"


def test_a_cut_without_times_of_findings_is_told_as_well() -> None:
    cause = cut(replace(LOST, first=None, last=None), of=ISOLATED, events=[fault("kill", 4, 9, nodes=(1,))])
    assert cause is not None
    assert cause.faults == ()
    assert texts(cause)[-1] == "the first of 10 acknowledged writes that will be lost, offsets 10 to 19"
    run = evidence(LOST, of=ISOLATED, began=None)
    (one,) = truncations(of_log(run), run)
    assert {step.time for step in one.steps} == {None}


@pytest.mark.parametrize(
    ("lost", "text"),
    [
        (replace(LOST, count=1), "an acknowledged write that will be lost, offset 10"),
        (replace(LOST, count=2),
         "the first of 2 acknowledged writes that will be lost, between offsets 10 and 19; the last at 7.0 s"),
    ],
)  # fmt: skip
def test_the_step_of_the_loss_says_how_many_and_until_when(lost: Extent, text: str) -> None:
    assert text in texts(cut(lost, of=ISOLATED))


@pytest.mark.parametrize(("low", "high"), [(None, 19), (10, None)])
def test_offsets_are_left_out_unless_both_ends_are_known(low: int | None, high: int | None) -> None:
    cause = cut(replace(LOST, low=low, high=high), extent("offset-reuse"), of=ISOLATED)
    (text,) = (text for text in texts(cause) if "will be lost" in text)
    assert text.endswith("will be lost; the last at 7.0 s")


def test_a_log_that_keeps_its_length_was_not_cut() -> None:
    kept = changes(sample(1, 1, 1, 0, 20), sample(6, 1, 1, 0, 20, isr=(1,)), sample(9, 1, 1, 0, None))
    assert cut(LOST, of=kept) is None


def test_a_sample_without_a_log_end_hides_no_later_cut() -> None:
    late = changes(
        sample(1, 1, 1, 0, None), sample(6, 2, 2, 1, 10), *(each.after for each in ISOLATED[LOG][-2:])
    )
    cause = cut(LOST, of=late)
    assert cause is not None
    assert [each.offset for each in cause.cuts] == [10]


def test_only_the_time_of_a_recreation_is_left_out() -> None:
    assert cut(LOST, of=ISOLATED, events=[fault("kill", 8, 10)]) is not None
    assert cut(LOST, of=ISOLATED, events=[fault("recreate-topic", 1, 2)]) is not None
    assert cut(LOST, of=ISOLATED, events=[fault("recreate-topic", 9, 9)]) is None
    first_alone = changes(
        sample(1, 1, 1, 0, 30), sample(2, 1, 1, 0, 1), sample(6, 2, 2, 1, 10), sample(8, 1, 1, 0, 20),
        sample(9, 1, 2, 1, 10),
    )  # fmt: skip
    cause = cut(LOST, of=first_alone, events=[fault("recreate-topic", 1, 3)])
    assert cause is not None
    assert [each.log_end for each in cause.cuts] == [20]


def test_the_sample_before_the_cut_tells_as_whom_the_broker_led() -> None:
    """Broker 1 led epoch 0, then epoch 2; it is the later one whose end was cut."""
    of = changes(
        sample(1, 1, 1, 0, 5), sample(2, 1, 1, 2, 20), sample(6, 2, 2, 3, 10), sample(9, 1, 2, 3, 10),
    )  # fmt: skip
    cause = cut(LOST, of=of)
    assert cause is not None
    assert [each.epoch for each in cause.cuts] == [2]


def test_between_two_changes_a_log_grows_unseen() -> None:
    """The sample before the cut is not the one that the change before it ended with."""
    of = [
        Change(before=None, after=sample(1, 1, 1, 0, 5, mark=5)),
        Change(before=sample(8, 1, 1, 0, 20, mark=20), after=sample(9, 1, 2, 1, 10)),
    ]
    cause = cut(LOST, of={LOG: of})
    assert cause is not None
    assert cause.circumstances == ()
    slow = changes(
        sample(1, 1, 1, 0, 15), sample(6, 2, 2, 1, 10), sample(8, 1, 2, 1, 20), sample(9, 1, 2, 1, 10)
    )
    cause = cut(LOST, of=slow)
    assert cause is not None
    assert [(each.log_end, each.time) for each in cause.cuts] == [(20, 9.0), (15, 8.0)]


def deposed(before: Sample, elected: Sample | None, after: Sample, *more: Sample) -> Cause | None:
    """A leader that came to follow another one, and had fetched more than it had cut off when it was asked again."""
    return cut(LOST, of=changes(before, *([elected] if elected else []), after, *more))


def test_a_successor_with_a_shorter_log_or_a_low_watermark_shows_that_the_log_was_cut() -> None:
    assert deposed(OLD, NEW, FOLLOWS) is not None
    assert deposed(replace(OLD, high_watermark=11), replace(NEW, log_end=19), FOLLOWS) is not None
    assert deposed(replace(OLD, high_watermark=11), replace(NEW, log_end=20), FOLLOWS) is None
    assert deposed(replace(OLD, high_watermark=None), replace(NEW, log_end=20), FOLLOWS) is None
    assert deposed(replace(OLD, high_watermark=11), replace(NEW, log_end=None), FOLLOWS) is None
    assert deposed(OLD, replace(NEW, log_end=20), FOLLOWS) is not None
    assert deposed(replace(OLD, high_watermark=11), None, replace(FOLLOWS, leader=-1)) is None
    assert deposed(OLD, None, FOLLOWS) is not None
    assert deposed(OLD, NEW, replace(FOLLOWS, log_end=20)) is not None, (
        "it has cut its log and filled it again"
    )


def test_a_cut_lies_where_the_successor_began_although_the_log_has_grown_since() -> None:
    """Broker 1 was cut back to 10 and has fetched up to 17 of its successor's log."""
    grown = replace(FOLLOWS, log_end=17)
    for found in (LOST, extent("lost-write", low=10, high=14)):
        cause = cut(found, of=changes(OLD, NEW, grown))
        assert cause is not None
        assert [(each.log_end, each.offset) for each in cause.cuts] == [(20, 10)]
    for unseen in (None, replace(NEW, log_end=None), replace(NEW, node=3), replace(NEW, log_end=18)):
        for mark in (11, None):  # the findings may lie below the part that was cut
            cause = deposed(replace(OLD, high_watermark=mark), unseen, grown)
            assert cause is not None
            assert [each.offset for each in cause.cuts] == [17]
    cause = deposed(OLD, NEW, grown, sample(9, 3, 1, 0, 14), sample(13, 3, 2, 1, 12))
    assert cause is not None
    assert [each.offset for each in cause.cuts] == [10, 10]


def test_a_cut_begins_with_what_is_lost_although_the_successor_was_asked_late() -> None:
    """It had appended up to 18 by then."""
    late, grown = replace(NEW, log_end=18), replace(FOLLOWS, log_end=17)
    cause = deposed(OLD, late, grown)
    assert cause is not None
    assert [each.offset for each in cause.cuts] == [10]
    assert "has truncated its log from 20 to 10" in texts(cause)[-1]
    higher = cut(extent("lost-write", low=17, high=19), of=changes(OLD, late, grown))
    assert higher is not None
    assert [each.offset for each in higher.cuts] == [17]
    both = deposed(OLD, late, grown, sample(13, 2, 2, 1, 19), sample(14, 2, 1, 2, 18))
    assert both is not None
    assert [each.offset for each in both.cuts] == [17, 18], "which of two leaders lost them is not known"
    follower = deposed(OLD, late, grown, sample(9, 3, 1, 0, 19), sample(13, 3, 2, 1, 18))
    assert follower is not None
    assert [each.offset for each in follower.cuts] == [10, 18]


@pytest.mark.parametrize(
    ("node", "time", "offsets", "expected"),
    [
        ("kafka1", 11.0, [15, 12], 12),
        ("kafka1", 11.0, [12, 15], 12),
        ("kafka1", 8.0, [12], 12),
        ("kafka1", 12.0, [12], 12),
        ("kafka1", 7.9, [12], 10),
        ("kafka1", 12.1, [12], 10),
        ("kafka2", 11.0, [12], 10),
        ("kafka1", 11.0, [19], 19),
        ("kafka1", 11.0, [20], 10),  # it had no record there
    ],
)
def test_a_cut_lies_where_its_broker_logged_it(
    node: str, time: float, offsets: list[int], expected: int
) -> None:
    lines = [
        LogLine(time=time, node=node, text=f"Truncating partition t-0 with TruncationState(offset={to},")
        for to in offsets
    ]
    lines.append(LogLine(time=time, node=node, text="Leader t-0 starts at leader epoch 1 from offset 3"))
    logs: Any = SimpleNamespace(about=lambda log: lines if log == LOG else [])
    run = replace(evidence(LOST, of=changes(OLD, replace(NEW, log_end=18), FOLLOWS)), logs=logs)
    assert [each.offset for each in of_first(run).cuts] == [expected]
    untimed = replace(run, began=None)
    assert [each.offset for each in of_first(untimed).cuts] == [10]


def of_first(run: RunEvidence) -> Cause:
    cause = first_cause(truncations(of_log(run), run), run)
    assert cause is not None
    return cause


def test_a_leader_is_overruled_once() -> None:
    cause = deposed(OLD, NEW, replace(FOLLOWS, log_end=20), sample(14, 1, 3, 2, 20))
    assert cause is not None
    assert [each.time for each in cause.cuts] == [12.0]


def test_a_leader_is_overruled_only_by_a_later_epoch_and_below_its_end() -> None:
    assert deposed(OLD, None, replace(FOLLOWS, epoch=0)) is None
    assert deposed(OLD, None, replace(FOLLOWS, leader=1)) is None
    assert deposed(replace(OLD, log_end=10), None, FOLLOWS) is None
    assert deposed(replace(OLD, log_end=11), None, FOLLOWS) is not None
    assert deposed(replace(OLD, leader=2), None, FOLLOWS) is None
    assert deposed(replace(OLD, log_end=None), None, FOLLOWS) is None


def test_such_a_cut_lies_at_the_lowest_finding() -> None:
    cause = cut(LOST, extent("offset-reuse", low=12, high=12), of=changes(OLD, NEW, FOLLOWS))
    assert cause is not None
    assert [each.offset for each in cause.cuts] == [10]
    unplaced = replace(LOST, low=None)
    assert cut(unplaced, extent("offset-reuse"), of=changes(OLD, NEW, FOLLOWS)) is not None
    assert cut(unplaced, of=changes(OLD, replace(NEW, log_end=20), FOLLOWS)) is None
