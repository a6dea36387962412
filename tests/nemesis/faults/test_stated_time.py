"""What a stated time shows of a clock: pure functions."""

from __future__ import annotations

from typing import Any

import pytest

from nemesis.cluster import Ahead
from nemesis.faults.clock import Skew, shows_drift, shows_offset

CASES: dict[str, Any] = {}


def seen(ahead: float, *, at: float = 0.0, unsure: float = 0.005) -> Ahead:
    return Ahead(at=at, least=ahead - unsure, most=ahead + unsure, source="append time of a record")


@pytest.mark.parametrize(
    ("ahead", "wanted", "own", "is_shown"),
    [
        (60.0, 60, 60, True),
        (0.0, 60, 60, False),
        (-60.0, 60, 60, False),
        (0.5, 0.5, 0.5, True),
        (0.0, 0.5, 0.5, False),  # within a second of what is wanted, and yet nothing
        (0.0, 0, 60, True),  # together with another fault of -60 s
        (60.0, 60, 0.004, None),  # too small a difference to be seen
        (0.2, 0, -60, True),  # a heal
        (60.0, 0, -60, False),
    ],
)
def test_an_offset(ahead: float, wanted: float, own: float, is_shown: bool | None) -> None:
    assert shows_offset(seen(ahead), Skew(offset=wanted), Skew(offset=own)) is is_shown


@pytest.mark.parametrize(
    ("seconds", "ppm", "own", "is_shown"),
    [(2.0, 50_000, 50_000, True), (2.0, 0, 50_000, False), (0.1, 50_000, 50_000, None), (5.0, 3, 3, None)],
)
def test_a_drift(seconds: float, ppm: float, own: float, is_shown: bool | None) -> None:
    second = seen(seconds * ppm * 1e-6, at=seconds)
    assert shows_drift(seen(0), second, Skew(ppm=own), Skew(ppm=own)) is is_shown
