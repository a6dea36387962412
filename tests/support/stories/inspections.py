"""Histories in which a broker forgets a change of a topic that had been acknowledged, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from workloads.history.schema import HARNESS


def altered(
    s: Any, change: str, at: tuple[int, int], *, kind: str = "ok", topic: str = "side", **more: Any
) -> Any:
    value = json.dumps({"change": change, **more})
    return s.operation("alter", process=5, at=at, type=kind, topic=topic, partition=None, value=value)


def created(s: Any, at: tuple[int, int] = (1, 10), **more: Any) -> Any:
    return altered(s, "create", at, partitions=2, retention_ms=60, **more)


def inspected(
    s: Any,
    exists: bool,
    *,
    at: tuple[int, int] = (50, 60),
    kind: str = "ok",
    topic: str = "side",
    partitions: int | None = 2,
    retention: int | None = 60,
) -> Any:
    value: dict[str, Any] = {"node": 2, "exists": exists}
    if exists:
        value |= {"partitions": partitions, "retention_ms": retention}
    return s.operation(
        "inspect", process=5, at=at, type=kind, topic=topic, partition=None, value=json.dumps(value)
    )


def forgot_a_topic(s: Any) -> Any:
    return inspected(created(s), False)


def kept_a_topic_that_was_deleted(s: Any) -> Any:
    return inspected(altered(created(s), "delete", (11, 20)), True)


def forgot_a_topic_that_was_created_again(s: Any) -> Any:
    altered(created(s), "delete", (11, 20))
    return inspected(created(s, (21, 49)), False)


def created_when_the_inspection_began(s: Any) -> Any:
    """The inspection began at the nanosecond in which the creation was acknowledged."""
    altered(created(s), "delete", (11, 20))
    return inspected(created(s, (21, 50)), False)


def set_to_the_default(s: Any) -> Any:
    """Nobody knows what that is. Another change says what the setting is by its name."""
    altered(created(s), "config", (11, 20), config={"retention.ms": None})
    inspected(s, True, at=(21, 25))
    altered(s, "config", (26, 30), config={"retention.ms": "70"})
    return inspected(s, True, retention=70)


def forgot_a_setting_that_was_named(s: Any) -> Any:
    return inspected(altered(created(s), "config", (11, 20), config={"retention.ms": "70"}), True)


def forgot_a_topic_after_an_inspection_without_an_answer(s: Any) -> Any:
    return inspected(inspected(created(s), True, at=(11, 15), kind="info"), False)


def forgot_partitions(s: Any) -> Any:
    return inspected(altered(created(s), "partitions", (11, 20), partitions=3), True, partitions=2)


def forgot_a_setting(s: Any) -> Any:
    """One inspection after the creation, and another one after a change. Each setting is not the last one."""
    inspected(created(s), True, at=(11, 15), retention=61)
    return inspected(altered(s, "config", (21, 30), retention_ms=70), True, retention=60)


def forgot_partitions_of_a_topic_that_nobody_created(s: Any) -> Any:
    """The run created the topic."""
    return inspected(altered(s, "partitions", (11, 20), partitions=4), True, partitions=3, retention=9)


def remembered(s: Any) -> Any:
    """All of it; more partitions than it asked for; and settings that a broker does not tell."""
    inspected(created(s), True, at=(11, 15))
    inspected(altered(s, "partitions", (16, 17), partitions=3), True, at=(18, 19), partitions=4)
    inspected(altered(s, "config", (21, 30), retention_ms=70), True, at=(31, 35), partitions=3, retention=70)
    inspected(s, True, at=(36, 40), partitions=3, retention=None)
    altered(s, "delete", (41, 45)), inspected(s, False, at=(46, 48))
    return inspected(created(s, (49, 50)), True)


def changed_meanwhile(s: Any) -> Any:
    """The deletion was not acknowledged when the inspection began; nor was one of unknown outcome that came first."""
    inspected(altered(created(s), "delete", (40, 51)), True)
    altered(s, "delete", (1, 5), kind="info", topic="u"), created(s, topic="u")
    return inspected(s, False, topic="u")


def changed_without_saying_what(s: Any) -> Any:
    """A change of unknown outcome, of which the history has nothing else."""
    s.operation("alter", process=5, at=(11, 20), type="info", topic="side", partition=None, value=None)
    return inspected(created(s), False)


def changed_later(s: Any) -> Any:
    """A change that was requested after the answer."""
    return altered(inspected(created(s), True), "delete", (61, 70))


def refused(s: Any) -> Any:
    return inspected(altered(created(s), "delete", (11, 20), kind="fail"), True)


def asked_in_vain(s: Any) -> Any:
    """No answer, another topic, and a description that is none."""
    inspected(created(s), False, kind="info"), inspected(s, False, topic="another")
    return s.operation("read", process=5, topic="side", start_offset=0, end_offset=1, at=(50, 60))


def changed_when_the_broker_answered(s: Any) -> Any:
    """The change began at that nanosecond, so that nobody knows what the broker had to report."""
    return altered(inspected(created(s), True, partitions=1), "partitions", (60, 70), partitions=3)


def described_by_others(s: Any) -> Any:
    """What the harness found of the topic when it deleted it is no inspection."""
    altered(created(s), "partitions", (11, 20), partitions=3)
    deleted = json.dumps({"event": "deleted", "id": "a", "partitions": 2, "config": {}})
    return s.operation("topic", process=HARNESS, topic="side", partition=None, value=deleted, at=(61, 62))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    forgot_a_topic: {"forgotten-change": 1},
    kept_a_topic_that_was_deleted: {"forgotten-change": 1},
    forgot_a_topic_that_was_created_again: {"forgotten-change": 1},
    created_when_the_inspection_began: {},
    set_to_the_default: {},
    forgot_a_setting_that_was_named: {"forgotten-change": 1},
    forgot_a_topic_after_an_inspection_without_an_answer: {"forgotten-change": 1},
    forgot_partitions: {"forgotten-change": 1},
    forgot_a_setting: {"forgotten-change": 2},
    forgot_partitions_of_a_topic_that_nobody_created: {"forgotten-change": 1},
    remembered: {},
    changed_meanwhile: {},
    changed_without_saying_what: {},
    changed_later: {},
    refused: {},
    asked_in_vain: {},
    changed_when_the_broker_answered: {},
    described_by_others: {},
}
