"""Runs whose replicas were compared at the end, and differed, or did not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from workloads.history.schema import HARNESS

ONE = 1 << 40


def compared(s: Any, partition: int = 0, kind: str = "ok") -> Any:
    about = {"nodes": [1, 2, 3], "equal": 1, "bytes": 80}
    return s.operation(
        "comparison", process=HARNESS, type=kind, topic="t", partition=partition, value=json.dumps(about),
        start_offset=0, end_offset=1, at=(90, 95),
    )  # fmt: skip


def different(s: Any, partition: int = 0) -> Any:
    copies = {"1": {"epoch": 1, "size": 8, "timestamp": 5, "digest": "a", "value": ONE}, "2": None}
    return s.operation(
        "divergence", process=HARNESS, topic="t", partition=partition, start_offset=7, at=(95, 96),
        value=json.dumps({"different": 3, "copies": copies}),
    )  # fmt: skip


def written(s: Any) -> Any:
    return s.send(ONE, 0, at=(1, 9)).final({0: ONE}, end=1)


def replicas_that_differ(s: Any) -> Any:
    return different(compared(written(s)))


def replicas_of_two_partitions_that_differ(s: Any) -> Any:
    return different(different(compared(compared(written(s)), 1)), 1)


def replicas_that_are_the_same(s: Any) -> Any:
    return compared(compared(written(s)), 1)


def replicas_that_could_not_be_read(s: Any) -> Any:
    return compared(written(s), kind="info")


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    replicas_that_differ: {"replica-divergence": 1},
    replicas_of_two_partitions_that_differ: {"replica-divergence": 2},
    replicas_that_are_the_same: {},
    replicas_that_could_not_be_read: {},
}
