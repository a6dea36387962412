"""Histories in which an administrator deletes the beginning of a log, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.recreations import after, before, recreated
from tests.support.stories.removals import ONE, created, observed, third_remains, three


def request(s: Any, end: int, *, op: int = 77, at: Any = None, **more: Any) -> Any:
    """The row before the request, which asks for the removal of all records below the offset `end`."""
    s.operation("deletion", process=5, op=op, type="info", start_offset=0, end_offset=end, at=at, **more)
    s.operations[-1]["completed"] = None
    return s


def answer(s: Any, end: int, kind: str = "ok", *, op: int = 77, at: Any = None, **more: Any) -> Any:
    value = {"node": 1, "low_watermark": end} if kind == "ok" else {"node": 1}
    return s.operation(
        "deletion", process=5, op=op, type=kind, start_offset=0, end_offset=end, value=json.dumps(value), at=at,
        **more,
    )  # fmt: skip


def deletion(s: Any, end: int, kind: str = "ok", **more: Any) -> Any:
    return answer(request(s, end, **more), end, kind, **more)


def deleted_by_an_administrator(s: Any) -> Any:
    return third_remains(deletion(three(created(s)), 2))


def deleted_without_an_answer(s: Any) -> Any:
    """The administrator was killed, or did not get the answer in time."""
    return third_remains(request(three(created(s)), 2))


def deleted_with_unknown_outcome(s: Any) -> Any:
    return third_remains(deletion(three(created(s)), 2, "info"))


def deleted_past_the_requested_offset(s: Any) -> Any:
    return third_remains(deletion(three(created(s)), 1))


def gone_although_the_leader_refused(s: Any) -> Any:
    return third_remains(deletion(three(created(s)), 2, "fail"))


def deleted_by_one_of_two_requests(s: Any) -> Any:
    """The leader refused the one that went further."""
    deletion(three(created(s)), 1, op=78)
    return third_remains(deletion(s, 2, "fail", op=79))


def deleted_without_an_answer_after_another(s: Any) -> Any:
    """The leader answered the first request only."""
    deletion(three(created(s)), 1, op=78)
    return third_remains(request(s, 2, op=79))


def deleted_in_another_log(s: Any) -> Any:
    created(s).send(ONE + 3, 0, partition=1)
    return third_remains(three(deletion(s, 2, partition=1)))


def reader_went_on_after_a_deletion(s: Any) -> Any:
    """Offset 1 was read before it was deleted. The second reader finds offset 2 next."""
    three(created(s)).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE + 2, 2).poll(ONE, 0, process=11)
    deletion(s, 2).poll(ONE + 2, 2, process=11)
    return third_remains(s)


def reader_skipped_after_a_refused_deletion(s: Any) -> Any:
    three(created(s)).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE + 2, 2).poll(ONE, 0, process=11)
    deletion(s, 2, "fail").poll(ONE + 2, 2, process=11)
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def deleted_before_a_final_read_that_never_came(s: Any) -> Any:
    """The run was interrupted. A broker saw the start of the log before the deletion."""
    observed(three(s), 0)
    return request(s, 1).poll(ONE + 2, 2)


def deleted_before_the_topic_was_recreated(s: Any) -> Any:
    """The request and its answer concern the former log."""
    deletion(before(s), 1)
    after(recreated(s))
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def deleted_at_an_unknown_time_around_a_recreation(s: Any) -> Any:
    """The request without an answer may have reached the new log."""
    request(before(s), 1)
    after(recreated(s))
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def refused_before_the_topic_was_recreated(s: Any) -> Any:
    deletion(before(s), 1, "fail")
    after(recreated(s))
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def refused_during_a_recreation(s: Any) -> Any:
    """It is not known which of the two logs the leader meant, and neither lost a record to it."""
    request(before(s), 1, at=(180, 181))
    answer(s, 1, "fail", at=(180, 295))
    after(recreated(s))
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


def deleted_after_the_topic_was_recreated(s: Any) -> Any:
    deletion(after(recreated(before(s))), 1)
    return s.final({1: ONE + 8}, start=1, end=2, leader_epoch=0)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    deleted_by_an_administrator: {"expired": 2},
    deleted_without_an_answer: {"expired": 2},
    deleted_with_unknown_outcome: {"expired": 2},
    deleted_past_the_requested_offset: {"expired": 1, "lost-write": 1},
    gone_although_the_leader_refused: {"lost-write": 2},
    deleted_by_one_of_two_requests: {"expired": 1, "lost-write": 1},
    deleted_without_an_answer_after_another: {"expired": 2},
    deleted_in_another_log: {"unseen": 1, "lost-write": 2},
    reader_went_on_after_a_deletion: {},
    reader_skipped_after_a_refused_deletion: {"poll-skip": 1},
    deleted_before_a_final_read_that_never_came: {"expired": 1, "lost-write": 1},
    deleted_before_the_topic_was_recreated: {"lost-write": 1},
    deleted_at_an_unknown_time_around_a_recreation: {},
    refused_before_the_topic_was_recreated: {"lost-write": 1},
    refused_during_a_recreation: {"lost-write": 1},
    deleted_after_the_topic_was_recreated: {},
}
