"""Which nodes exchange test packets, and what those show."""

from __future__ import annotations

import random

import pytest

from nemesis.effects.measured_packets import MOST, Order, agrees, needed, shows_delay, shows_reordering
from nemesis.faults.reset import was_silent
from pytest_kafkacheck import bandwidth, isolate, loss


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5, 0.9, 1.0])
def test_a_share_is_told_apart_from_none_and_from_another_one(share: float) -> None:
    number = needed(share)
    assert number is not None
    drawn = random.Random(7)
    for _ in range(200):
        affected = sum(drawn.random() < share for _ in range(number))
        assert agrees(number, affected, share)
    assert not agrees(number, 0, share)
    assert not agrees(20 * number, round(20 * number * share / 2), share)


def test_none_means_none() -> None:
    assert agrees(500, 0, 0.0)
    assert not agrees(500, 1, 0.0)


def test_a_share_that_needs_too_many_packets_is_not_measured() -> None:
    assert needed(0.0001) is None
    assert (needed(0.01) or 0) < MOST


def test_a_loss_is_measured_from_a_peer_that_no_other_fault_works_at(fake_run) -> None:
    fake_run.carry_out(
        bandwidth(2, kbit=64, at=1, lasting=20), loss(1, at=2, lasting=10), isolate(3, at=15, lasting=5),
        loss(1, at=16, lasting=2),
    )  # fmt: skip
    assert fake_run.value("loss-1", "inject")["evidence"]["peer"] == 3
    assert fake_run.value("loss-3", "inject")["evidence"]["peer"] == 2
    assert all(fake_run.effective().values())


@pytest.mark.parametrize(
    ("took", "ms", "jitter", "is_delayed"),
    [
        ([200.1, 201, 230], 200, 0, True),
        ([0.1, 201, 230], 200, 0, False),
        ([0.1, 0.2, 0.4], 5, 0, False),
        ([4.1, 5.0, 6.2], 5, 1, True),
        ([0.1, 5.2, 9.8], 5, 5, True),
        ([], 200, 0, False),
    ],
)
def test_a_delay(took: list[float], ms: float, jitter: float, is_delayed: bool) -> None:
    assert shows_delay(took, ms, jitter) is is_delayed


@pytest.mark.parametrize(
    ("arrived", "overtook", "is_shown"), [(200, 38, True), (200, 0, False), (199, 38, False), (200, 2, False)]
)
def test_reordering(arrived: int, overtook: int, is_shown: bool) -> None:
    assert shows_reordering(Order(sent=200, arrived=arrived, overtook=overtook), 0.2) is is_shown


def test_a_connection_is_silent_only_when_it_neither_sent_nor_received() -> None:
    assert was_silent("a b cubic lastsnd:300 lastrcv:1000 lastack:4")
    assert not was_silent("a b cubic lastsnd:299 lastrcv:1000")
    assert not was_silent("a b cubic lastrcv:1000")  # it sent just now
