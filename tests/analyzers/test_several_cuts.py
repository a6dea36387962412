"""Several cuts of one log are events of their own. Needs no JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analyzers.causes.derive import cause_of, derive
from analyzers.causes.evidence import Change, Extent, RunEvidence, merged
from analyzers.causes.explainers.truncation import truncations
from analyzers.judge.causes import boundaries_of
from analyzers.verdict.finding import Cause
from tests.support.cause_evidence import ISOLATED, LOG, S, changes, extent, fault, sample

TWICE = changes(
    sample(1, 1, 1, 0, 5), sample(6, 2, 2, 1, 10), sample(8, 1, 1, 0, 20), sample(9, 1, 2, 1, 10),
    sample(16, 1, 1, 2, 30, mark=30), sample(18, 2, 2, 1, 40, mark=30), sample(19, 2, 1, 2, 30, mark=30),
)  # fmt: skip
"""Broker 1 is cut back from 20 to 10 in favour of broker 2, which is later cut back from 40 to 30 in favour of it."""

EVENTS = [fault("isolate", 4, 8, nodes=(1,)), fault("isolate", 14, 18, nodes=(2,))]

FIRST = [extent("lost-write"), extent("offset-reuse")]
SECOND = [
    replace(extent("lost-write", low=30, high=37, first=15, last=17), count=8, period=2),
    replace(extent("realtime-order", low=30, high=45, first=20, last=22), count=7, period=2),
]


def of(found: Sequence[Extent]) -> tuple[Cause, ...]:
    evidence = RunEvidence(
        began=0, extents=found, changes=TWICE, events=EVENTS, boundaries=boundaries_of(EVENTS)
    )
    return of_cuts(evidence)


def of_cuts(run: RunEvidence) -> tuple[Cause, ...]:
    """A cause for each cut of the log that the findings of the run concern."""
    return tuple(cause_of([each], run) for each in truncations(run.of_log(LOG), run))


def test_each_cut_explains_the_findings_of_its_time() -> None:
    first, second = of([*FIRST, *SECOND])
    assert (first.name, first.findings) == ("acks other than all", {"lost-write": 10, "offset-reuse": 10})
    assert [(cut.node, cut.log_end, cut.offset) for cut in first.cuts] == [(1, 20, 10)]
    assert (second.name, second.findings) == ("acks other than all", {"lost-write": 8, "realtime-order": 7})
    assert [(cut.node, cut.log_end, cut.offset) for cut in second.cuts] == [(2, 40, 30)]
    assert second.election is not None
    assert (second.election.leader, second.election.epoch) == (1, 2)


def test_what_one_setting_prevents_is_one_cause_however_often_it_happened() -> None:
    run = RunEvidence(
        began=0, extents=[*FIRST, *SECOND], changes=TWICE, events=EVENTS, boundaries=boundaries_of(EVENTS),
        settings={"acks": "1"},
    )  # fmt: skip
    (cause,) = derive(run)
    assert (cause.name, cause.changes, cause.faults) == ("acks=1", "setting", ("isolate-0",))
    assert cause.findings == {"lost-write": 18, "offset-reuse": 10, "realtime-order": 7}
    assert [(cut.node, cut.log_end, cut.offset, cut.log) for cut in cause.cuts] == [
        (1, 20, 10, LOG),
        (2, 40, 30, LOG),
    ]
    assert cause.settings == {"acks": "1"}
    assert cause.unrecorded == ("min.insync.replicas", "unclean.leader.election.enable")
    assert "the same happens in t-0: lost-write 8, realtime-order 7" in [step.text for step in cause.steps]


def test_findings_after_the_last_cut_belong_to_it() -> None:
    late = replace(extent("offset-reuse", first=20, last=21), period=2)
    (cause,) = of([*FIRST, late])
    assert cause.findings == {"lost-write": 10, "offset-reuse": 20}


def test_a_cut_that_nothing_confirms_leaves_its_findings_to_the_next() -> None:
    (cause,) = of([replace(each, period=0) for each in SECOND])
    assert [(cut.node, cut.offset) for cut in cause.cuts] == [(2, 30)]
    assert cause.findings == {"lost-write": 8, "realtime-order": 7}


def test_every_fault_begins_a_period() -> None:
    assert boundaries_of(EVENTS) == [4 * S, 14 * S]
    assert boundaries_of([]) == []
    run = RunEvidence(began=0, extents=[], changes=ISOLATED, events=EVENTS, boundaries=boundaries_of(EVENTS))
    assert [run.period(at * S) for at in (3, 4, 13, 14, 30)] == [0, 1, 1, 2, 2]


WIDE = replace(extent("lost-write", low=4, high=25, first=3, last=9), processes=(9,))
NARROW = replace(extent("lost-write"), processes=(2,))


@pytest.mark.parametrize("parts", [[WIDE, NARROW], [NARROW, WIDE]])
def test_extents_of_several_periods_are_one(parts: list[Extent]) -> None:
    (one,) = merged(parts).values()
    assert (one.count, one.first, one.last, one.low, one.high) == (20, 3 * S, 9 * S, 4, 25)
    assert (one.processes, one.log) == ((2, 9), LOG)
    (unknown,) = merged([replace(each, low=None) for each in parts]).values()
    assert unknown.low is None


def test_the_last_cut_in_time_explains_the_rest_in_whichever_order_samples_are() -> None:
    first, second = of([*SECOND, *FIRST])
    assert {(cause.cuts[0].node, cause.findings["lost-write"]) for cause in (first, second)} == {
        (1, 10),
        (2, 8),
    }


def test_findings_that_a_cut_explains_are_not_left_to_a_later_one() -> None:
    above = [replace(each, high=39) for each in FIRST]
    assert sorted(sum(cause.findings.values()) for cause in of([*above, *SECOND])) == [15, 20]


def test_a_cut_of_which_no_sample_shows_the_end_is_placed_by_the_findings_before_it() -> None:
    """Broker 2 has fetched again when it is asked: only the writes that are lost say where it was cut."""
    late = {LOG: [each for each in TWICE[LOG] if each.after.time < 19 * S]}
    last = Change(before=late[LOG][-1].after, after=sample(19, 2, 1, 2, 90, mark=30))
    evidence = RunEvidence(
        began=0, extents=[*SECOND], changes={LOG: [*late[LOG], last]}, events=EVENTS,
        boundaries=boundaries_of(EVENTS),
    )  # fmt: skip
    (cause,) = of_cuts(evidence)
    assert [(cut.node, cut.offset) for cut in cause.cuts] == [(2, 30)]


@pytest.mark.parametrize("name", ["lost-write", "offset-reuse"])
def test_one_cut_explains_the_findings_of_all_periods(name: str) -> None:
    parts = [extent(name), replace(extent(name, first=15, last=16), period=2)]
    evidence = RunEvidence(
        began=0, extents=parts, changes=ISOLATED, events=EVENTS, boundaries=boundaries_of(EVENTS)
    )
    (cause,) = of_cuts(evidence)
    assert cause.findings == {name: 20}


def test_cuts_are_told_in_order_of_their_periods() -> None:
    """A set of 1 and 8 is not in order."""
    above = [replace(each, high=39) for each in FIRST]
    found = [replace(each, period=1 + 7 * (each.period // 2)) for each in [*above, *SECOND]]
    evidence = RunEvidence(
        began=0, extents=found, changes=TWICE, events=EVENTS, boundaries=[S, *([14 * S] * 7)]
    )
    assert [cause.findings["lost-write"] for cause in of_cuts(evidence)] == [10, 8]


def test_a_cut_is_not_placed_by_findings_of_a_later_period() -> None:
    late = changes(
        sample(1, 1, 1, 0, 5), sample(6, 2, 2, 1, 10), sample(8, 1, 1, 0, 20), sample(12, 1, 2, 1, 90)
    )
    found = [extent("lost-write"), replace(extent("lost-write", low=5, first=15, last=16), period=2)]
    evidence = RunEvidence(
        began=0, extents=found, changes=late, events=EVENTS, boundaries=boundaries_of(EVENTS)
    )
    assert of_cuts(evidence)[0].cuts[0].offset == 10


LOST_DISK_TWICE = changes(
    sample(1, 1, 1, 0, 20, isr=(1,), mark=20), sample(9, 1, 1, 1, 2, isr=(1,), mark=2),
    sample(15, 1, 1, 1, 30, isr=(1,), mark=30), sample(19, 1, 1, 2, 27, isr=(1,), mark=27),
)  # fmt: skip
"""Broker 1 loses the end of its log, and once more. The first time, it has two new records when it is asked."""


def test_where_a_leader_was_cut_shows_in_what_is_lost() -> None:
    """It has new records when it is asked. What lies below them is part of the same truncation."""
    found = [extent("lost-write", low=0), extent("nonmonotonic-send", low=0, high=1)]
    run = RunEvidence(began=0, extents=found, changes=LOST_DISK_TWICE, events=[])
    (cause,) = of_cuts(run)
    assert cause.cuts[0].offset == 0
    assert cause.findings == {"lost-write": 10, "nonmonotonic-send": 10}


def test_a_later_cut_of_a_leader_is_where_its_log_ended() -> None:
    """Values below were lost by the first cut."""
    later = replace(extent("lost-write", low=27, high=29, first=14, last=15), period=2)
    events = [fault("wipe", 4, 8, nodes=(1,)), fault("wipe", 16, 18, nodes=(1,))]
    run = RunEvidence(
        began=0, extents=[extent("lost-write", low=0), later], changes=LOST_DISK_TWICE, events=events,
        boundaries=boundaries_of(events),
    )  # fmt: skip
    assert [[cut.offset for cut in cause.cuts] for cause in of_cuts(run)] == [[0], [27]]
