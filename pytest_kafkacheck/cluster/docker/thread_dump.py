"""What time a Java process says it is: the first line of the thread dump that SIGQUIT makes it print.

For nodes that append no records for clients: separate controllers, and brokers that do not learn of a new topic,
because they are cut off from the controller. A dump is about 100 KB of log, so brokers are asked for an append time
first (`kafka.append_time`).
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

from nemesis.cluster import Ahead
from pytest_kafkacheck.cluster.kafka.waiting import wait_until
from pytest_kafkacheck.errors import InfrastructureError

HEAD = re.compile(rb"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\nFull thread dump ", re.MULTILINE)

LIMIT = 5.0
"""Seconds for the process to print the dump."""

RESOLUTION = 1.0
"""Seconds: the dump has whole seconds, rounded down."""


def ahead(api: Any, container: str, *, name: str) -> Ahead:
    """How far the clock of the process is ahead of this host's. Raises OSError when it prints no dump in time."""
    earlier = len(_heads(api, container))
    asked, moment = time.time(), time.monotonic()
    api.kill(container, signal="SIGQUIT")
    found: list[bytes] = []

    def missing() -> str | None:
        found[:] = _heads(api, container)[earlier:]
        return None if found else "it printed no thread dump"

    try:
        wait_until(missing, f"the time of {name}", limit=LIMIT)
    except InfrastructureError as error:
        raise OSError(str(error)) from error
    answered = time.time()
    stated = stated_time(found[0])
    return Ahead(
        at=moment, least=stated - answered, most=stated + RESOLUTION - asked, source="head of a thread dump"
    )


def stated_time(head: bytes) -> float:
    """Seconds since 1970. Containers of kafkacheck have no time zone of their own, so the dump is in UTC."""
    return datetime.strptime(head.decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _heads(api: Any, container: str) -> list[bytes]:
    return HEAD.findall(bytes(api.logs(container, stdout=True, stderr=True, timestamps=False)))
