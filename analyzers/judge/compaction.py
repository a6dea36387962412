"""What compaction removed in a run, as far as its final reads show it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Log = tuple[str, int]


def compacted_topics(rows: Iterable[Any]) -> set[str]:
    """The topics whose recorded settings allow compaction at any time. rows: operations of the harness and of
    administrators."""
    return {topic for topic, value in _changes(rows) if "compact" in _policy(value)}


def may_compact(changes: Iterable[Any]) -> bool:
    """Whether some of these operations of administrators and of the nemesis may have set such a policy."""
    return any(row.value and "cleanup.policy" in row.value and "compact" in row.value for row in changes)


def removed_by_compaction(
    harness: Iterable[Any],
    acknowledged: Mapping[Log, int],
    polled: Iterable[Any],
    *,
    altered: Iterable[Any] = (),
) -> int | None:
    """By how many records the final reads of compacted topics found less than was acknowledged.

    None without such a topic. A topic that was created again does not count, because its earlier log is gone.

    harness       its operations. altered: those of administrators, see `Tally`.
    acknowledged  numbers of acknowledged sends, of the logs with a completed final read.
    polled        see `Tally`.
    """
    rows = list(harness)
    again = {topic for topic, value in _changes([*rows, *altered]) if _is_again(value)}
    topics = compacted_topics([*rows, *altered]) - again
    if not topics:
        return None
    found: dict[Log, Counter[int]] = {}
    for client in polled:
        if client.final:
            found.setdefault((client.topic, client.partition), Counter())[client.process] += client.n
    return sum(
        # A final read may have been given up, and repeated by another process.
        max(count - max(found.get(log, Counter()).values(), default=0), 0)
        for log, count in acknowledged.items()
        if log[0] in topics
    )


def _changes(harness: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (row.topic, json.loads(row.value)) for row in harness if row.f in ("topic", "alter") and row.value
    ]


def _is_again(value: Mapping[str, Any]) -> bool:
    return value.get("event") == "recreated" or value.get("change") == "delete"


def _policy(value: Mapping[str, Any]) -> str:
    return str((value.get("config") or {}).get("cleanup.policy", ""))
