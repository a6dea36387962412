"""Members of a group in a program of a claim."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from nemesis.wait import wait_until
from pytest_kafkacheck.claims.members import Member


class Consumer:
    """Notes what it is asked for, except polls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def partitions_for_topic(self, topic: str) -> set[int]:
        self.calls.append(("metadata", topic))
        return {0}

    def subscribe(self, topics: Iterable[str], *, listener: object) -> None:  # noqa: ARG002
        self.calls.append(("subscribe", list(topics)))

    def poll(self, *, timeout_ms: int) -> dict[Any, Any]:
        time.sleep(timeout_ms / 1e5)
        return {}

    def close(self, *, autocommit: bool) -> None:  # noqa: ARG002
        self.calls.append(("close", None))


def test_a_member_knows_the_partitions_before_it_joins() -> None:
    consumer = Consumer()
    with Member(consumer, ["orders"]) as member:
        assert wait_until(lambda: len(consumer.calls) == 2, limit=10)
        member.subscribe(["orders", "payments"])
        assert wait_until(lambda: len(consumer.calls) == 5, limit=10)
    assert consumer.calls == [
        ("metadata", "orders"),
        ("subscribe", ["orders"]),
        ("metadata", "orders"),
        ("metadata", "payments"),
        ("subscribe", ["orders", "payments"]),
        ("close", None),
    ]
