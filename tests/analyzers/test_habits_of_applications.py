"""How an application commits while nothing disturbs it. Needs no JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import pytest

from analyzers.causes.application import Application, Habit, Output, Turn, habit
from tests.support.application_evidence import (
    NS,
    SINK,
    commit,
    each_sent,
    finding,
    inputs,
    only_cause,
    run_of,
    sent,
    turn,
)
from tests.support.cause_evidence import LOG


def application(
    outputs: Mapping[int, Sequence[Output]], *, turns: Sequence[Turn] = (turn(0.5, 0),)
) -> Application:
    """Position 2 is committed at 10 s, 4 at 20 s, 6 at 30 s, and 8 at 40 s; of ten inputs."""
    commits = [commit(10 * number, 2 * number) for number in range(1, 5)]
    return Application(sink=SINK, inputs=inputs(10, outputs), commits={LOG: commits}, turns={LOG: turns})


def at(*times: float | None) -> Mapping[int, Sequence[Output]]:
    """One output of each input from the first on."""
    return {offset: [sent(time)] for offset, time in enumerate(times)}


@pytest.mark.parametrize(
    ("times", "late", "behind", "bunched", "across"),
    [
        ((1, 2, 11, 12, 21), 0.0, 0.0, 0.0, 0.0),
        # at the time of the commit, and just after it; without a commit before, nothing is bunched
        ((10, 10, 11, 12, 21), 0.0, 0.0, 0.0, 0.0),
        ((10 + NS, 10, 11, 12, 21), 0.2, NS, 0.0, 0.0),
        # within the last quarter of the time between two commits
        ((1, 2, 17.5, 12, 21), 0.0, 0.0, 0.0, 0.0),
        ((1, 2, 17.5 + NS, 12, 21), 0.0, 0.0, 1 / 3, 0.0),
        ((1, 2, 20, 12, 27.6), 0.0, 0.0, 2 / 3, 0.0),
        ((11, 12, 20, 22, 31), 0.8, 2.0, 1.0, 0.0),
        # after the following commit, of which there is none behind the last
        ((1, 2, 30, 12, 21), 0.2, 10.0, 0.0, 0.0),
        ((1, 2, 30 + NS, 12, 21), 0.2, 10 + NS, 0.0, 0.2),
        ((21, 22, 31, 12, 21), 0.6, 11.0, 0.0, 0.6),
        ((1, 2, 11, 12, 21, 22, 99), 1 / 7, 59.0, 0.0, 0.0),
        # the median
        ((13, 11, 12, 26, 25), 0.6, 3.0, 0.0, 0.0),
        ((14, 11, 23, 22, 21), 0.8, 3.0, 0.0, 0.0),
    ],
)  # fmt: skip
def test_outputs_and_their_commits(
    times: Sequence[float], late: float, behind: float, bunched: float, across: float
) -> None:
    found = habit(application(at(*times)))
    assert found is not None
    assert found.behind == pytest.approx(behind)
    assert found == Habit(late, found.behind, bunched, across, None)


@pytest.mark.parametrize(
    "others",
    [
        {0: [sent(None)]},
        {0: []},
        {0: [sent(11), sent(12)]},
        {9: [sent(50)]},
        {0: [sent(11)]},
    ],
    ids=str,
)
def test_five_outputs_tell_a_habit(others: Mapping[int, Sequence[Output]]) -> None:
    """Of inputs with one output each, below a position that their writer committed. Instance 1 had the partition
    until 10.5 s: it wrote none of these, and committed position 2."""
    turns = turn(0.5, 1), turn(10.5, 0)
    five = {offset: [sent(15)] for offset in range(2, 7)}
    assert habit(application({**five, **others}, turns=turns)) == Habit(0.0, 0.0, 0.0, 0.0, None)
    del five[6]
    assert habit(application({**five, **others}, turns=turns)) is None


@pytest.mark.parametrize(
    ("gaps", "interval"),
    [
        ([1] * 5, 1.0),
        ([1] * 4, None),
        # short ones are the time of a batch
        ([0.4] * 5, 0.4),
        ([0.4 - NS] * 5, None),
        # several partitions are written one after another
        ([0.05, 0.95] * 5, 0.95),
        ([0.05 + NS, 0.95] * 5, None),
        # a timer commits nothing where nothing is new
        ([1] * 6 + [2] * 4, 1.0),
        ([1] * 6 + [3] * 4, 1.0),
        ([1] * 7 + [4] * 3, 1.0),
        ([1] * 6 + [4] * 4, None),
        ([1, 1, 1, 2, 3, 3], 1.0),
        # most of them
        ([0.5, 0.5, 1, 1, 1, 1, 1, 1], 1.0),
        ([0.95, 0.96, 0.97, 1.0, 1.01, 1.02], 1.0),
        # 0.12 s more, and a twentieth of it
        ([2.6] * 6 + [2.85] * 4, 2.6),
        ([2.6] * 6 + [2.85 + NS] * 4, None),
        ([2.6] * 6 + [2.35] * 2, 2.6),
    ],
)
def test_intervals_between_commits(gaps: Sequence[float], interval: float | None) -> None:
    times = [*accumulate(gaps, initial=2.0)]
    commits = [commit(time, 5) for time in times]
    one = Application(
        sink=SINK, inputs=inputs(5, at(*[1.5] * 5)), commits={LOG: commits}, turns={LOG: [turn(0.5, 0)]}
    )
    found = habit(one)
    assert found is not None
    assert found.interval == pytest.approx(interval)


@pytest.mark.parametrize(
    ("usual", "is_timer"),
    [
        (Habit(late=0.3, behind=0.1, bunched=0.2, across=0.1, interval=1.0), True),
        (Habit(late=0.3, behind=0.1, bunched=0.2, across=0.1, interval=None), False),
        (Habit(late=0.3, behind=0.1, bunched=0.59, across=0.1, interval=1.0), True),
        (Habit(late=0.3, behind=0.1, bunched=0.6, across=0.1, interval=1.0), False),
        (Habit(late=0.9, behind=0.1, bunched=0.2, across=0.04, interval=1.0), True),
        (Habit(late=0.91, behind=0.1, bunched=0.2, across=0.04, interval=1.0), False),
        (Habit(late=0.91, behind=0.1, bunched=0.2, across=0.05, interval=1.0), True),
    ],
)
def test_commits_by_a_timer(usual: Habit, is_timer: bool) -> None:
    """Not those that come first: few of their outputs are sent after the next commit."""
    assert usual.is_timer == is_timer


@pytest.mark.parametrize(("late", "is_before"), [(0.6, False), (0.61, True)])
def test_commits_before_the_work(late: float, is_before: bool) -> None:
    assert Habit(late=late, behind=0.1, bunched=0, across=0, interval=None).is_before_work == is_before


@pytest.mark.parametrize(
    ("is_exact", "written", "is_outside"), [(True, 5, True), (False, 5, False), (True, 0, False)]
)
def test_positions_are_beside_transactions_where_both_are_known(
    is_exact: bool, written: int, is_outside: bool
) -> None:
    """A sample of a position does not show how it was committed."""
    one = Application(
        sink=SINK,
        inputs=inputs(10, each_sent(range(written), 1.3, transactional=True)),
        commits={LOG: [commit(5, 10, is_exact=is_exact)]},
        turns={LOG: [turn(0.5, 0)]},
    )
    found = only_cause(run_of(one, finding("missing-output", 5, 9, 5)))
    assert (found.name == "positions outside of the transaction") == is_outside
    assert found.is_determined
