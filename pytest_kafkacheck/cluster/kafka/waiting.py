"""Waiting for a cluster: until something holds, a node ends, or time is up."""

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

LOOK = 0.5
"""Seconds between looks whether a node has ended: to ask the engine costs the nodes processor time."""


def until(
    problem: Callable[[], str | None],
    what: str,
    *,
    limit: float,
    dead: Callable[[], str | None] = lambda: None,
    pause: float = 0.1,
) -> None:
    """Return when there is no problem any more; what cannot be asked is one, too.

    problem  tells what still stands against it, or None; OSError and KafkaError count as told.
    what     is waited for; for people.
    dead     tells of a node that has ended, or None.
    limit    seconds in all, pause: between two attempts.
    Raises InfrastructureError when time is up, and at once when a node has ended, for it will not come back.
    """
    looked = float("-inf")

    def once() -> str | None:
        nonlocal looked
        if time.monotonic() - looked >= LOOK:
            looked = time.monotonic()
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
