"""How many records a producer sends at a time, and how many may be on their way."""

from __future__ import annotations

import pytest

from workloads.roles.producer import CHUNK, IN_FLIGHT, Pace, limits


def test_a_pace_makes_up_for_one_second_at_most() -> None:
    pace = Pace(100, 10.0)
    assert pace.due(10.0) == 0
    assert pace.due(10.5) == 50
    assert pace.take(50)[::49] == [10_010_000_000, 10_500_000_000]
    assert (pace.due(10.5), pace.skipped) == (0, 0)
    assert pace.due(40.0) == 100
    assert pace.skipped == pytest.approx(29.5 * 100 - 100)
    assert pace.take(100)[::99] == [39_010_000_000, 40_000_000_000]
    assert pace.due(40.1) == 10


def test_a_high_rate_has_room_for_it() -> None:
    assert limits(None, 0) == limits(1000, 0) == (CHUNK, IN_FLIGHT)
    assert limits(20_000, 0) == (800, 4000)
    assert limits(20_000, 900_000) == (800, IN_FLIGHT)


def test_a_pace_below_one_record_a_second_sends() -> None:
    pace = Pace(0.5, 0.0)
    assert (pace.due(1.9), pace.due(2.0)) == (0, 1)
