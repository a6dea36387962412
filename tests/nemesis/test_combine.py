"""Combined events begin at the right times, and their ids stay unique."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nemesis.combine import every, overlap, repeat, sequence, storm
from nemesis.schedule import Schedule
from pytest_kafkacheck import isolate, kill, pause, restart


def times(events) -> list[tuple[str, float]]:
    return [(event.fault.name, round(event.at, 6)) for event in events]


def test_sequence_begins_each_part_when_the_one_before_has_ended() -> None:
    pair = [isolate(1, at=4, lasting=2), kill(2, at=5, lasting=6)]
    placed = sequence(pause(3, at=50, lasting=3), pair, restart(1), kill(1, lasting=1), at=10, gap=0.5)
    assert times(placed) == [
        ("pause", 10),
        ("isolate", 13.5),
        ("kill", 14.5),
        ("restart", 21),
        ("kill", 21.5),
    ]


def test_a_sequence_skips_empty_parts() -> None:
    assert times(sequence([], kill(1, lasting=1), [], kill(1, lasting=1))) == [("kill", 0), ("kill", 1)]
    assert sequence() == overlap() == []


def test_overlap_begins_all_parts_together_and_keeps_distances_within_them() -> None:
    pair = [isolate(1, at=4, lasting=2), kill(2, at=5, lasting=6)]
    assert times(overlap(pair, pause(3, at=9, lasting=1), at=2)) == [
        ("isolate", 2),
        ("kill", 3),
        ("pause", 2),
    ]


def test_repeat_waits_for_the_end_of_a_part_and_every_does_not() -> None:
    assert times(repeat(3, kill(1, lasting=4), at=1, gap=2)) == [("kill", 1), ("kill", 7), ("kill", 13)]
    assert times(every(3, kill(1, lasting=4), times=3, at=1)) == [("kill", 1), ("kill", 4), ("kill", 7)]


@pytest.mark.parametrize(
    ("length", "each", "begins"),
    [
        (3, 1, [0, 1, 2]),
        (2.5, 1, [0, 1, 2]),
        (1.4, 1, [0, 1]),
        (0.3, 0.1, [0, 0.1, 0.2]),
        (0.5, 1, [0]),
        (0, 1, [0]),
    ],
)
def test_a_storm_fills_its_length(length, each, begins) -> None:
    found = storm(kill(1, lasting=1), pause(2, lasting=1), length=length, each=each, at=7)
    assert [at for _, at in times(found)] == [pytest.approx(7 + begin) for begin in begins]
    assert [name for name, _ in times(found)] == (["kill", "pause"] * len(begins))[: len(begins)]


def test_iterators_are_repeated_completely() -> None:
    for found in (
        repeat(2, (kill(node, lasting=1) for node in (1, 2))),
        every(5, (kill(node, lasting=1) for node in (1, 2)), times=2),
        storm((kill(node, lasting=1) for node in (1, 2)), length=2),
    ):
        assert [event.target.nodes for event in found] == [(1,), (2,)] * 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda part: repeat(0, part), "repeat times=0: expected a whole number, 1 or more"),
        (lambda part: repeat(2.5, part), "repeat times=2.5"),
        (lambda part: every(-1, part, times=2), "every seconds=-1: expected a number, 0 or more"),
        (lambda part: every(1, part, times=True), "every times=True"),
        (lambda part: storm(part, length=float("inf")), "storm length=inf"),
        (lambda part: storm(part, length=-1), "storm length=-1"),
        (lambda part: storm(part, length=5, each=0), "storm each=0: expected a number, 0.01 or more"),
        (lambda _: storm(length=5), "storm parts=0"),
        (lambda part: sequence(part, at=-1), "Event.at=-1"),
    ],
)
def test_invalid_values_are_refused(make, said) -> None:
    with pytest.raises(ValueError) as refused:
        make(kill(1, lasting=1))
    assert said in str(refused.value)


PARTS = st.recursive(
    st.builds(
        lambda make, at, lasting, id_: [replace(make(1, at=at, lasting=lasting), id=id_)],
        st.sampled_from([kill, pause, isolate]),
        st.integers(0, 9),
        st.integers(1, 9),
        st.just(""),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: sequence(*parts)),
        st.lists(inner, max_size=3).map(lambda parts: overlap(*parts)),
        st.builds(repeat, st.integers(1, 3), inner),
        st.builds(lambda seconds, part, times: every(seconds, part, times=times), st.integers(0, 5), inner,
                  st.integers(1, 3)),
        st.builds(lambda part, length: storm(part, length=length), inner, st.integers(1, 4)),
    ),
    max_leaves=5,
)  # fmt: skip


@given(PARTS, st.booleans())
def test_ids_stay_unique_in_every_combination(events, named) -> None:
    if named and events:
        events[0] = replace(events[0], id="kill-1")
        events = repeat(3, events)
    ids = [event.id for event in Schedule.of(events).events]
    assert len(set(ids)) == len(events)


def test_only_the_first_copy_keeps_its_id() -> None:
    first = replace(kill(1, lasting=1), id="mine")
    for found in (
        repeat(3, first),
        every(1, first, times=3),
        storm(first, length=3),
        repeat(1, repeat(3, first)),
    ):
        assert [event.id for event in found] == ["mine", "", ""]


def test_two_events_with_the_same_id_are_refused_by_the_schedule() -> None:
    mine = replace(kill(1, lasting=1), id="mine")
    with pytest.raises(ValueError, match="all different"):
        Schedule.of(sequence(mine, mine))


@pytest.mark.parametrize("part", [None, 3, "kill", ["kill"], {"kill": 1}, [[kill(1, lasting=1)]]])
@pytest.mark.parametrize(
    "put",
    [
        lambda part: sequence(kill(1, lasting=1), part),
        lambda part: overlap(part),
        lambda part: repeat(2, part),
        lambda part: every(3, part, times=2),
        lambda part: storm(part, length=3),
    ],
    ids=["sequence", "overlap", "repeat", "every", "storm"],
)
def test_values_that_are_no_events_are_refused(put, part) -> None:
    with pytest.raises(ValueError, match="expected an event such as"):
        put(part)


@pytest.mark.parametrize("at", [None, "3", [], 10**400, float("nan"), True])
@pytest.mark.parametrize(
    "put",
    [
        lambda part, at: sequence(part, part, gap=at),
        lambda part, at: sequence(part, at=at),
        lambda part, at: overlap(part, at=at),
        lambda part, at: repeat(2, part, at=at),
        lambda part, at: every(3, part, times=2, at=at),
        lambda part, at: storm(part, length=3, at=at),
    ],
    ids=["gap", "sequence", "overlap", "repeat", "every", "storm"],
)
def test_invalid_times_are_refused(put, at) -> None:
    with pytest.raises(ValueError, match=r"expected|is text, write 3"):
        put(kill(1, lasting=1), at)


def test_a_very_large_number_of_repetitions_is_refused() -> None:
    part = kill(1, lasting=1)
    for put in (
        lambda: repeat(10**9, part),
        lambda: every(1, part, times=10**9),
        lambda: storm(part, length=1e9, each=0.01),
    ):
        with pytest.raises(ValueError, match="at most"):
            put()
