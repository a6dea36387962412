"""What the controller's answer to a topic that is only validated says of a broker."""

from __future__ import annotations

import pytest

from pytest_kafkacheck.cluster.kafka.metadata_views import answered


@pytest.mark.parametrize(
    ("code", "message", "meaning"),
    [
        (0, None, "active"),
        (
            39,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
            "unregistered",
        ),
        (
            39,
            "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled "
            "shutdown.",
            "fenced",
        ),
    ],
)
def test_an_answer_about_the_broker(code: int, message: str | None, meaning: str) -> None:
    assert answered(code, message) == meaning


@pytest.mark.parametrize(
    ("code", "message"), [(39, "other"), (44, "no such broker is registered"), (-1, "no broker")]
)
def test_an_answer_that_says_nothing_of_the_broker_is_no_answer(code: int, message: str) -> None:
    with pytest.raises(OSError, match=f"error {code}"):
        answered(code, message)
