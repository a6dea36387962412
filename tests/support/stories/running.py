"""Histories of runs that go on, and how many of each anomaly are certain."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import member
from tests.support.stories.passed import PASSED
from tests.support.stories.queues import got, said
from tests.support.stories.removals import ONE, created

S = 1_000_000_000
COMMITTED = json.dumps({"committed": True})


def _missed(s: Any, *, end: int = 0, process: int = 1, later: int = 40, **read: Any) -> Any:
    """A session's write that its read, which ends at 30, does not return; and what it does later."""
    created(s).send(ONE, 0, session=1, at=(1, 9))
    s.operation("read", at=(20, 30), start_offset=0, end_offset=end, session=1, process=process, **read)
    return s.send(ONE + 1, 1, session=1, at=(later, later + 9))


def missed_its_write(s: Any) -> Any:
    return _missed(s)


def went_on_as_soon_as_it_had_read(s: Any) -> Any:
    return _missed(s, later=31)


def may_still_record_its_polls(s: Any) -> Any:
    return _missed(s, later=30)


def wrote_a_minute_ago(s: Any) -> Any:
    return _missed(s, later=60 * S)


def wrote_longer_ago(s: Any) -> Any:
    """What it did then may not be known any more."""
    return _missed(s, later=60 * S + 1)


def another_client_is_a_minute_ahead(s: Any) -> Any:
    """What the session did before the read may not be known any more, however little its own client did since."""
    return _missed(s).send(ONE + 2, 2, process=2, at=(60 * S, 60 * S + 10))


def another_client_read(s: Any) -> Any:
    return _missed(s, process=2)


def got_its_write(s: Any) -> Any:
    return _missed(s).poll(ONE, 0, process=1, session=1, at=(20, 30))


def got_its_write_later(s: Any) -> Any:
    return _missed(s).poll(ONE, 0, process=1, session=1, at=(50, 51))


def was_held_back(s: Any) -> Any:
    """By the last stable offset, which ends a read of committed records."""
    return _missed(s, value=COMMITTED)


def passed_its_write(s: Any) -> Any:
    return _missed(s, end=1, value=COMMITTED)


def _owners(s: Any, until: int, event: str = "revoked", **first: Any) -> Any:
    member(s, 5, "assigned", (1, 2), **first)
    member(s, 6, "assigned", (3, 4))
    return member(s, 5, event, (until, until + 1))


def two_owners(s: Any) -> Any:
    return _owners(s, 10)


def after_two_owners(s: Any) -> Any:
    member(s, 7, "assigned", (0, 1))
    member(s, 7, "revoked", (2, 3))
    return _owners(s, 10)


def owner_that_gave_up(s: Any) -> Any:
    return _owners(s, 4)


def owner_that_lost_it(s: Any) -> Any:
    return _owners(s, 10, "lost")


def owner_that_may_be_replaced(s: Any) -> Any:
    return _owners(s, 10, instance="i")


def owner_of_another_generation(s: Any) -> Any:
    return _owners(s, 10, generation=2)


def owner_without_an_end(s: Any) -> Any:
    member(s, 5, "assigned", (1, 2))
    return member(s, 6, "assigned", (3, 4))


def _again(s: Any, since: int, *, kind: str = "accept", first: int = 1, count: int = 2) -> Any:
    """Delivered again, after an answer that was confirmed at 3 s."""
    got(s, 0, 100, (0, S), count=first)
    said(s, 0, 100, kind, (2 * S, 3 * S))
    return got(s, 0, 101, (since, since + S), count=count)


def delivered_again(s: Any) -> Any:
    return _again(s, 13 * S + 1)


def delivered_again_too_early(s: Any) -> Any:
    return _again(s, 13 * S)


def counted_once_only(s: Any) -> Any:
    return _again(s, 13 * S + 1, kind="release", first=2)


def counted_once_only_too_early(s: Any) -> Any:
    return _again(s, 13 * S, kind="release", first=2)


def counted_right(s: Any) -> Any:
    return _again(s, 13 * S, kind="release")


def not_counted(s: Any) -> Any:
    return got(s, 0, 100, (0, S), count=0)


RUNNING_STORIES: dict[Callable[[Any], Any], dict[str, int]] = {
    **{make: {"lost-write": count} if count else {} for make, count in PASSED.items()},
    missed_its_write: {"read-your-writes": 1},
    went_on_as_soon_as_it_had_read: {"read-your-writes": 1},
    may_still_record_its_polls: {},
    wrote_a_minute_ago: {"read-your-writes": 1},
    wrote_longer_ago: {},
    another_client_is_a_minute_ahead: {},
    another_client_read: {},
    got_its_write: {},
    got_its_write_later: {"read-your-writes": 1},
    was_held_back: {},
    passed_its_write: {"read-your-writes": 1},
    two_owners: {"double-ownership": 1},
    after_two_owners: {"double-ownership": 1},
    owner_that_gave_up: {},
    owner_that_lost_it: {},
    owner_that_may_be_replaced: {},
    owner_of_another_generation: {},
    owner_without_an_end: {},
    delivered_again: {"queue-redelivery": 1},
    delivered_again_too_early: {},
    counted_once_only: {"queue-delivery-count": 1},
    counted_once_only_too_early: {},
    counted_right: {},
    not_counted: {"queue-delivery-count": 1},
}
"""To what is found live of the checks that ask for more while the run goes on."""
