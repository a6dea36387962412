"""A wait ends when its condition is true, or at its limit."""

from __future__ import annotations

from nemesis.tasks import wait_until


def test_returns_as_soon_as_the_condition_holds(stop) -> None:
    assert wait_until(lambda: stop.now >= 103, limit=10, interval=0.5, clock=stop.time, sleep=stop.wait)
    assert stop.now == 103


def test_gives_up_at_the_limit_after_a_last_evaluation(stop) -> None:
    asked = []
    assert not wait_until(
        lambda: bool(asked.append(stop.now)), limit=2, interval=0.75, clock=stop.time, sleep=stop.wait
    )
    assert asked == [100, 100.75, 101.5, 102]


def test_evaluates_the_condition_once_without_any_time(stop) -> None:
    assert wait_until(lambda: True, limit=0, clock=stop.time, sleep=stop.wait)
    assert wait_until(lambda: True, limit=-1, clock=stop.time, sleep=stop.wait)


def test_ends_early_when_abandoned(stop) -> None:
    assert not wait_until(
        lambda: False, limit=9, clock=stop.time, sleep=stop.wait, abandon=lambda: stop.now > 101
    )
    assert 101 < stop.now < 102
