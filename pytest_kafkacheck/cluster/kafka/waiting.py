"""Waiting for a cluster: until a condition holds, a node ends, or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable

from kafka.errors import KafkaError
from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_delay,
    wait_fixed,
)

from pytest_kafkacheck.errors import InfrastructureError

ENDED_INTERVAL = 0.5
"""Seconds between two checks whether a node has ended: each request to the engine costs the nodes processor time."""


def wait_until(
    problem: Callable[[], str | None],
    what: str,
    *,
    limit: float,
    dead: Callable[[], str | None] = lambda: None,
    pause: float = 0.1,
) -> None:
    """Return as soon as `problem` returns None.

    problem  returns the reason to go on waiting, or None; an OSError or KafkaError that it raises is a reason too.
    what     the awaited condition, for the message of an error.
    dead     returns the last output of a node that has ended, or None.
    limit    seconds in all; `pause` is the number of seconds between two attempts.
    Raises InfrastructureError when time is up, and at once when a node has ended, because it will not come back.
    """
    checked = float("-inf")

    def once() -> str | None:
        nonlocal checked
        if time.monotonic() - checked >= ENDED_INTERVAL:
            checked = time.monotonic()
            if (text := dead()) is not None:
                raise InfrastructureError(f"A node ended while kafkacheck waited for {what}: {text}")
        return problem()

    try:
        Retrying(
            stop=stop_after_delay(limit),
            wait=wait_fixed(pause),
            retry=retry_if_exception_type((OSError, KafkaError))
            | retry_if_result(lambda text: text is not None),
        )(once)
    except RetryError as error:
        why = error.last_attempt.exception() or error.last_attempt.result()
        raise InfrastructureError(f"Waited {limit:.0f} s in vain for {what}: {why}.") from error
