"""Histories with records of transactions that were aborted or may have been, which groups need not get, and near
misses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.stories import groups

ONE = 1 << 40


def fed(s: Any, *kinds: str, found: Mapping[int, int] | None = None, **final: Any) -> Any:
    """Records at the offsets 0, 1, ..., each in a transaction that ended so. By default, the final read found all."""
    for offset, kind in enumerate(kinds):
        s.send(ONE + offset, offset, type=kind, transaction=70 + offset, at=(offset + 1, offset + 2))
    s.now = 9_000  # after every other operation
    every = {offset: ONE + offset for offset in range(len(kinds))}
    s.final(every if found is None else found, end=len(kinds), **final)
    s.now = 10
    return s


def group_began_behind_aborted_records(s: Any) -> Any:
    """It is not known to read with read_committed. Another reader got the records."""
    fed(s, "fail", "info", "ok", found={2: ONE + 2})
    groups.member(s, 5, "assigned", (10, 20), start=2, policy="earliest")
    groups.polled(s, 5, [2], (21, 30))
    return s.poll(ONE, 0, process=20, at=(50, 60)).poll(ONE + 1, 1, process=20, at=(61, 70))


def group_committed_past_aborted_records(s: Any) -> Any:
    fed(s, "ok", "fail", "info", found={0: ONE})
    groups.member(s, 5, "assigned", (10, 20), start=0), groups.polled(s, 5, [0], (21, 30))
    groups.commit(s, 5, 3, (31, 40))
    return s.poll(ONE + 1, 1, process=20, at=(50, 60)).poll(ONE + 2, 2, process=20, at=(61, 70))


def group_committed_past_a_committed_record(s: Any) -> Any:
    fed(s, "ok", "ok", "fail", found={0: ONE, 1: ONE + 1})
    groups.member(s, 5, "assigned", (10, 20), start=0), groups.polled(s, 5, [0], (21, 30))
    groups.commit(s, 5, 3, (31, 40))
    return s.poll(ONE + 1, 1, process=20, at=(50, 60)).poll(ONE + 2, 2, process=20, at=(61, 70))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    group_began_behind_aborted_records: {},
    group_committed_past_aborted_records: {},
    group_committed_past_a_committed_record: {"commit-beyond-polls": 1},
}
