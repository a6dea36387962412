"""Many connections to one broker, each of which sends the same request again as soon as it is answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

from workloads.clients.connection import Address, Connection

LIMIT = 30.0
"""Seconds for an answer."""


class Caller:
    """answers: the times of each answered request, as (sent, answered) in seconds of the monotonic clock.

    is_waiting  whether a request is without an answer.
    error       what ended it early.
    """

    def __init__(self, address: Address, request: Any, stop: threading.Event) -> None:
        self.answers: list[tuple[float, float]] = []
        self.is_waiting = False
        self.error: OSError | None = None
        # The library keeps the correlation id in the request.
        self._address, self._request, self._stop = address, copy(request), stop

    def call(self) -> None:
        try:
            with Connection(self._address, timeout=LIMIT) as connection:
                while not self._stop.is_set():
                    sent, self.is_waiting = time.monotonic(), True
                    connection.ask(self._request)
                    self.is_waiting = False
                    self.answers.append((sent, time.monotonic()))
        except OSError as error:
            self.error = error


@contextmanager
def calling(address: Address, requests: list[Any]) -> Iterator[list[Caller]]:
    """A connection for each request, in a thread of its own."""
    stop = threading.Event()
    callers = [Caller(address, request, stop) for request in requests]
    threads = [
        threading.Thread(target=caller.call, name=f"kafkacheck-caller-{number}", daemon=True)
        for number, caller in enumerate(callers)
    ]
    for thread in threads:
        thread.start()
    try:
        yield callers
    finally:
        stop.set()
        for thread in threads:
            thread.join(LIMIT)
