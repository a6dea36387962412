"""When all replicas of all partitions were in sync again after a fault."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from analyzers.judge.around_faults import Replication, gaps_of


def change(time: int, is_short: bool, epoch: int = 1) -> Row:
    return Row(time=time, is_short=is_short, leader_epoch=epoch)


@pytest.mark.parametrize(
    ("time", "whole"),
    [
        (5, 5),
        (10, 40),  # the second gap begins before the first one ends
        (25, 40),
        (40, 40),
        (50, None),
        (80, None),
    ],
)
def test_the_first_time_without_a_gap(time: int, whole: int | None) -> None:
    assert Replication(gaps=((50, None), (20, 40), (10, 30)), until=90).whole_since(time) == whole


def test_a_time_after_the_last_sample_of_a_partition_is_unknown() -> None:
    assert Replication(gaps=(), until=90).whole_since(90) == 90
    assert Replication(gaps=(), until=90).whole_since(91) is None


@pytest.mark.parametrize(
    ("changes", "gaps"),
    [
        ([change(0, False)], []),
        ([change(0, False), change(10, True), change(20, False)], [(10, 20)]),
        ([change(20, False), change(10, True)], [(10, 20)]),
        ([change(10, True)], [(10, None)]),
        # A leader that was replaced at 10, and does not know it, says until 30 that all is well.
        ([change(5, False), change(10, True, epoch=2), change(40, False, epoch=2)], [(10, 40)]),
        # The old leader's ISR shrinks after its successor was elected, which sees all replicas in sync before that.
        ([change(30, True), change(20, False, epoch=2)], [(30, 30)]),
    ],
)
def test_the_gaps_of_one_partition(changes: list[Row], gaps: list[tuple[int, int | None]]) -> None:
    assert [*gaps_of(changes)] == gaps
