"""Sends of a client library's producer, until they have ended."""

from __future__ import annotations

import time

from workloads.clients.outcome import Outcome
from workloads.clients.protocol import Completion, Log, Producer

LIMIT = 60.0
"""Seconds."""


def taken(one: Producer, count: int) -> list[Completion]:
    """At least so many completions, in the order in which they came."""
    completions: list[Completion] = []
    deadline = time.monotonic() + LIMIT
    while len(completions) < count:
        assert time.monotonic() < deadline, f"{len(completions)} of {count} after {LIMIT} s"
        completions += one.take(0.2)
    return completions


def outcome(one: Producer, log: Log = ("t", 0), payload: bytes = b"x") -> Outcome:
    """Of one send."""
    one.send(1, log, payload)
    (completion,) = taken(one, 1)
    return completion.outcome
