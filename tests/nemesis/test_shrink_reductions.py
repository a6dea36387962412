"""What shrinking tries, and delta debugging."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from nemesis.event import Event
from nemesis.schedule import Schedule
from nemesis.shrink.reductions import GAP, LEAD, Evidence, by_evidence, classes, closer, ddmin, jumps, shorter
from pytest_kafkacheck import kill, pause, reset
from tests.support.flaky_world import FEWEST, SCHEDULES, Plan


@given(st.integers(1, 20), st.data())
def test_ddmin_finds_parts_none_of_which_can_be_removed(size: int, data: st.DataObject) -> None:
    needed = data.draw(st.frozensets(st.integers(0, size - 1)))
    asked = []

    def holds(parts: Sequence[int]) -> bool:
        assert list(parts) == sorted(parts)
        asked.append(tuple(parts))
        return needed <= set(parts)

    assert set(ddmin(range(size), holds, nothing=True)) == needed
    assert len(asked) <= size**2 + 3 * size


def test_ddmin_finds_one_part_of_twelve_with_few_trials() -> None:
    for needed in range(12):
        asked: list[int] = []
        ddmin(range(12), lambda parts, n=needed, seen=asked: seen.append(1) or n in parts)  # type: ignore[misc]
        assert len(asked) <= 8


def test_proposals_by_evidence_begin_with_the_smallest() -> None:
    schedule = Schedule.of([kill("leader", at=at, lasting=2).named(name) for at, name in enumerate("abcd")])
    known = Evidence(suspects=frozenset("b"), later=frozenset("cd"))
    assert [[event.id for event in cut.events] for _, cut in by_evidence(schedule, known)] == [
        ["b"],
        ["a", "b"],
        ["b", "c", "d"],
    ]
    assert not list(by_evidence(schedule, Evidence()))
    assert not list(by_evidence(schedule, Evidence(suspects=frozenset("abcd"))))


def test_classes_with_suspects_come_first_then_large_ones() -> None:
    schedule = Schedule.of([kill("leader", lasting=1), pause(1, lasting=1), pause(2, lasting=1), reset(1)])
    assert [sorted(kind) for kind in classes(schedule, {"reset-3"})] == [
        ["reset-3"], ["pause-1", "pause-2"], ["kill-0"],
    ]  # fmt: skip


@given(SCHEDULES)
def test_idle_time_is_removed_and_overlaps_are_kept(schedule: Schedule) -> None:
    for _, moved in closer(schedule):
        assert moved.length < schedule.length or any(event.fault.momentary for event in schedule.events)
        assert [event.id for event in moved.events] == [event.id for event in schedule.events]
        assert [event.lasting for event in moved.events] == [event.lasting for event in schedule.events]
        for (one, other), (now, then) in zip(
            combinations(schedule.events, 2), combinations(moved.events, 2), strict=True
        ):
            assert one.overlaps(other) == now.overlaps(then)
    tight = next((moved for _, moved in closer(schedule)), schedule)
    busy = 0.0
    for event in sorted(tight.events, key=lambda each: each.at):
        assert event.at - busy <= (GAP if busy else max(LEAD, GAP)) + 1e-6
        busy = max(busy, event.end)


def test_events_with_a_trigger_are_not_moved() -> None:
    schedule = Schedule.of([kill("leader", at=30, after="isr-shrink", lasting=2), pause(1, at=20, lasting=1)])
    (moved, *_) = [each for _, each in closer(schedule)]
    assert [event.at for event in moved.events] == [30, LEAD]


def test_durations_are_halved_down_to_a_floor() -> None:
    events: list[Event] = [kill("leader", lasting=8), pause(1, lasting=1.4), reset(1)]
    schedule = Schedule.of(events)
    half = shorter(schedule, [event.id for event in schedule.events])
    assert half is not None
    assert [event.lasting for event in half.events] == [4, 1, 0]
    assert shorter(schedule, ["reset-2"]) is None


def test_the_first_attempts_make_everything_simpler_at_once() -> None:
    start = Plan(Schedule.of([kill("leader", at=9, lasting=8), pause(1, at=30, lasting=4)]))
    known = [plan for _, plan in jumps(start, Evidence(suspects=frozenset({"pause-1"})))]
    assert [plan.ids for plan in known] == [{"pause-1"}, {"kill-0", "pause-1"}]
    assert {plan.clients for plan in known} == {FEWEST}
    assert [[event.at for event in plan.schedule.events] for plan in known] == [[2], [2, 12]]
    assert [plan.ids for _, plan in jumps(start, Evidence())] == [{"kill-0", "pause-1"}]
    assert not list(jumps(known[1], Evidence())), "nothing is left to do at once"
