"""Histories in which a search by time finds the wrong offset, and near misses.

The records at offsets 0 to 3 have the times 100, 200, 200 and 300. Process 5 polls them, and then searches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
TIMES = (100, 200, 200, 300)


def polled(s: Any, offsets: Collection[int] = range(4), *, until: int = 30) -> Any:
    for offset in range(4):
        s.send(ONE + offset, offset, at=(1, 9))
    for offset in offsets:
        s.poll(ONE + offset, offset, process=5, at=(11, until), op=1 << 60)
    return s


def searched(
    s: Any,
    known: int,
    answer: int | None,
    *,
    found: int | None = None,
    value: int | None = None,
    at: tuple[int, int] = (31, 40),
    **more: Any,
) -> Any:
    """The process asked for the time of the known record."""
    about = {"timestamp": TIMES[known], "value": ONE + known if value is None else value, "found": found}
    return s.operation(
        "search", process=5, at=at, start_offset=known, end_offset=answer, value=json.dumps(about), **more
    )


def final(s: Any, offsets: Collection[int] = range(4), **more: Any) -> Any:
    return s.final({offset: ONE + offset for offset in offsets}, end=4, **more)


def searched_too_far_forward(s: Any) -> Any:
    return final(searched(polled(s), 1, 2))


def searched_too_far_back(s: Any) -> Any:
    """One search each: the record found there is older, and nothing shows that the known one was still there."""
    return final(searched(polled(s), 1, 0, found=199))


def searched_too_far_forward_twice(s: Any) -> Any:
    searched(polled(s), 0, 1), searched(s, 2, 3, at=(33, 40))
    s.now = 40
    return final(s)


def searched_when_the_poll_completed(s: Any) -> Any:
    """Whether the record was there before the search is not known, nor whether it was there afterwards: the poll
    completed at the nanosecond in which one search began, and the final read began when the other one ended."""
    searched(polled(s, until=31), 0, 1), searched(s, 0, 1, at=(33, 40))
    s.now = 39
    return final(s)


def searched_well(s: Any) -> Any:
    """Answers that are legal: the record itself, one before it that is as old, and one before it that is younger."""
    searched(polled(s), 1, 1, found=200), searched(s, 2, 1, found=200), searched(s, 2, 1, found=250)
    return final(searched(s, 3, 0, found=None))


def searched_without_an_answer(s: Any) -> Any:
    """A leader that was replaced found nothing, and another one gave no answer."""
    searched(polled(s), 1, None), searched(s, 1, 3, type="info", error="no leader", found=1)
    s.operation(
        "read", process=5, start_offset=0, end_offset=4, value='{"timestamp": 9, "found": 8, "value": 1}'
    )
    return final(s)


def searched_for_a_record_that_was_removed(s: Any) -> Any:
    """The final read found a log start above it."""
    return final(searched(polled(s), 0, 1), (1, 2, 3), start=1)


def searched_for_a_record_that_another_reader_got_later(s: Any) -> Any:
    """Its response may have been on its way while the record was removed."""
    searched(polled(s), 0, 1)
    s.poll(ONE, 0, process=6, at=(41, 50))
    return final(s, (1, 2, 3), start=1)


def searched_for_a_record_that_was_not_there_yet(s: Any) -> Any:
    """What the row says of an earlier poll is not in the history; or the poll was over only after the search."""
    searched(polled(s, (1, 2, 3)), 0, 1)
    s.poll(ONE + 1, 1, process=6, at=(11, 32), op=1 << 60)
    return final(searched(s, 2, 3, at=(29, 40)))


def searched_after_the_final_read(s: Any) -> Any:
    final(polled(s))
    return searched(s, 1, 2, at=(s.now + 1, s.now + 9))


def searched_for_a_record_of_another_log(s: Any) -> Any:
    """Another partition, another topic, another value at the offset, and another offset of the value."""
    polled(s)
    searched(s, 1, 2, partition=1), searched(s, 1, 2, topic="u"), searched(s, 1, 2, value=ONE + 3)
    return final(searched(s, 0, 2, value=ONE + 1))


def searched_too_far_back_for_a_record_that_nobody_got(s: Any) -> Any:
    """It is lost as well."""
    return final(searched(polled(s, (0, 2, 3)), 1, 0, found=199), (0, 2, 3))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    searched_too_far_forward: {"wrong-offset-for-time": 1},
    searched_too_far_back: {"wrong-offset-for-time": 1},
    searched_too_far_forward_twice: {"wrong-offset-for-time": 2},
    searched_when_the_poll_completed: {},
    searched_too_far_back_for_a_record_that_nobody_got: {"wrong-offset-for-time": 1, "lost-write": 1},
    searched_well: {},
    searched_without_an_answer: {},
    searched_for_a_record_that_was_removed: {},
    searched_for_a_record_that_another_reader_got_later: {},
    searched_for_a_record_that_was_not_there_yet: {},
    searched_after_the_final_read: {},
    searched_for_a_record_of_another_log: {},
}
