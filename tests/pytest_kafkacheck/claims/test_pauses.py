"""What claims compute of what they saw over time."""

from __future__ import annotations

from pytest_kafkacheck.claims.claims.c05_mark_never_goes_back import Sample, falls
from pytest_kafkacheck.claims.claims.d10_controlled_shutdown import Away, leaderless
from pytest_kafkacheck.claims.timeline import Sample as View
from pytest_kafkacheck.claims.timeline import Window
from pytest_kafkacheck.claims.writer import longest_pause


def test_a_pause_counts_that_overlaps_the_time() -> None:
    moments = [4.0, 1.0, 1.5, 9.0]
    assert longest_pause(moments, since=1.2, until=5.0) == 5.0
    assert longest_pause(moments, since=1.2, until=3.0) == 2.5
    assert longest_pause(moments, since=9.5, until=20.0) == 0.0
    assert longest_pause([], since=0.0, until=1.0) == 0.0


def test_a_partition_has_no_leader_where_the_leader_is_away() -> None:
    views = [View(at, leader, ()) for at, leader in [(9.0, -1), (10.0, 1), (11.0, 1), (12.0, -1), (12.5, 2)]]
    away = [Away(1, 10.5, 11.5), Away(3, 10.0, 14.0)]
    assert leaderless(views, Window(10.0, 14.0), away) == 1.5


def test_a_fall_is_a_sample_with_a_lower_one_behind_it() -> None:
    samples = [Sample(1, 5), Sample(1, 5), Sample(2, 3), Sample(2, 9), Sample(3, 8)]
    assert list(falls(samples)) == [(samples[1], samples[2]), (samples[3], samples[4])]
