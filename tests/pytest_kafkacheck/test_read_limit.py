"""Final reads get more time where there is more to read."""

from __future__ import annotations

from pytest_kafkacheck.experiment.recovery import READ_LIMIT, read_limit


def test_long_logs_get_more_time() -> None:
    assert read_limit({}) == READ_LIMIT
    assert read_limit({"t": {0: (0, 100), 1: (50, 60)}}) < READ_LIMIT + 1
    # A reader of 200,000 records per second needs 150 s for this.
    assert read_limit({"t": {0: (0, 10_000_000), 1: (5_000_000, 25_000_000)}}) > 1000
