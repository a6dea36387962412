"""Which partitions are copied where all of them would be too much."""

from __future__ import annotations

import pytest

from pytest_kafkacheck.cluster.nodes.segments import fitting


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, ["empty"]),
        (9, ["empty"]),
        (10, ["empty", "small"]),
        (129, ["empty", "small"]),
        (130, ["empty", "small", "middle"]),
        (10_000, ["empty", "small", "middle", "large"]),
    ],
)
def test_the_smallest_fit_first(most: int, expected: list[str]) -> None:
    assert fitting({"large": 5000, "middle": 120, "empty": 0, "small": 10}, most) == expected
