"""Histories in which a session misses its own earlier writes or reads, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
TWO = 2 << 40
READ = {"f": "read", "session": 7, "process": 20}


def own_write_missed(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(11, 20))
    return s.final({0: ONE}, end=1)


def own_write_found_too_late(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(11, 20))
    s.poll(ONE, 0, process=21, session=7, at=(21, 25))
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1, at=(20, 30))
    return s.final({0: ONE}, end=1)


def own_write_found(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.poll(ONE, 0, process=20, session=7, at=(12, 20))
    s.operation(**READ, start_offset=0, end_offset=1, at=(11, 20))
    return s.final({0: ONE}, end=1)


def own_write_not_yet_due(s: Any) -> Any:
    """The reads began before the acknowledgement, did not complete, or belong to another session."""
    s.operation(**READ, start_offset=0, end_offset=0, at=(9, 20))
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ | {"type": "info"}, start_offset=0, end_offset=0, at=(30, 40))
    s.operation(**READ | {"session": 8}, start_offset=0, end_offset=0, at=(30, 40))
    s.operation(**READ | {"session": None, "process": 1}, start_offset=0, end_offset=0, at=(30, 40))
    return s.final({0: ONE}, end=1)


def own_write_missed_without_session(s: Any) -> Any:
    """A process without a session number is a session by itself."""
    s.send(ONE, 0)
    s.operation(**READ | {"session": None, "process": 1}, start_offset=0, end_offset=0)
    return s.final({0: ONE}, end=1)


def own_write_below_where_it_began_to_read(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10)).send(TWO, 1, at=(1, 10))
    s.poll(TWO, 1, process=20, session=7, at=(12, 20))
    s.operation(**READ, start_offset=1, end_offset=2, at=(11, 20))
    return s.final({0: ONE, 1: TWO}, end=2)


def first_own_write_below_where_it_began_to_read(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10)).send(TWO, 1, at=(1, 9)).send(ONE + 1, 2, session=7, at=(11, 12))
    s.poll(TWO, 1, process=20, session=7, at=(14, 20)).poll(ONE + 1, 2, process=20, session=7, at=(14, 20))
    s.operation(**READ, start_offset=1, end_offset=3, at=(13, 20))
    return s.final({0: ONE, 1: TWO, 2: ONE + 1}, end=3)


def own_write_damaged(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.poll(None, 0, process=20, session=7, at=(12, 20), error="corrupt")
    s.operation(**READ, start_offset=0, end_offset=1, at=(11, 20))
    return s.final({0: ONE}, end=1)


def session_went_back_behind_a_poll_of_two(s: Any) -> Any:
    s.send(TWO, 0, at=(1, 10)).send(TWO + 1, 1, at=(1, 10))
    for value, offset in ((TWO, 0), (TWO + 1, 1)):
        s.poll(value, offset, session=7, process=20, op=20 << 40, at=(12, 20))
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1, at=(21, 30))
    return s.final({0: TWO, 1: TWO + 1}, end=2)


def own_write_left_out_within_a_poll(s: Any) -> Any:
    s.send(TWO, 0, at=(1, 9)).send(ONE, 1, session=7, at=(1, 10)).send(TWO + 1, 2, at=(10, 10))
    s.poll(TWO, 0, process=20, session=7, op=20 << 40, at=(12, 20))
    s.poll(TWO + 1, 2, process=20, session=7, op=20 << 40, at=(12, 20))
    s.operation(**READ, start_offset=0, end_offset=3, at=(11, 20))
    return s.final({0: TWO, 1: ONE, 2: TWO + 1}, end=3)


def own_write_left_out_between_polls(s: Any) -> Any:
    s.send(TWO, 0, at=(1, 9)).send(ONE, 1, session=7, at=(1, 10)).send(TWO + 1, 2, at=(10, 10))
    s.poll(TWO, 0, process=20, session=7, at=(12, 15))
    s.poll(TWO + 1, 2, process=20, session=7, at=(16, 20))
    s.operation(**READ, start_offset=0, end_offset=3, at=(11, 20))
    return s.final({0: TWO, 1: ONE, 2: TWO + 1}, end=3)


def own_write_without_an_offset_missed(s: Any) -> Any:
    """Acknowledged without an offset, as with acks=0."""
    s.send(TWO, 0, at=(1, 9)).send(ONE, None, session=7, at=(1, 10))
    s.poll(TWO, 0, process=20, session=7, at=(12, 20))
    s.operation(**READ, start_offset=0, end_offset=1, at=(11, 20))
    return s.final({0: TWO, 1: ONE}, end=2)


def session_went_back(s: Any) -> Any:
    s.send(TWO, 0).send(TWO + 1, 1)
    s.operation(**READ, start_offset=0, end_offset=2).operation(**READ, start_offset=0, end_offset=1)
    return s.final({0: TWO, 1: TWO + 1}, end=2)


def session_went_back_behind_a_poll(s: Any) -> Any:
    s.send(TWO, 0).send(TWO + 1, 1).poll(TWO + 1, 1, session=7, process=20)
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1)
    return s.final({0: TWO, 1: TWO + 1}, end=2)


def session_stood_still(s: Any) -> Any:
    s.send(TWO, 0).poll(TWO, 0, session=7, process=20, at=(31, 40))
    s.operation(**READ, start_offset=0, end_offset=1, at=(30, 41))
    s.operation(**READ, start_offset=1, end_offset=1, at=(41, 50))
    s.operation(**READ, partition=1, start_offset=0, end_offset=0)
    return s.final({0: TWO}, end=1)


def wrote_behind_its_own_write(s: Any) -> Any:
    """Another client of the same session sends the second write."""
    s.send(ONE, 1, session=7, at=(1, 10)).send(TWO, 0, session=7, at=(11, 20))
    return s.final({0: TWO, 1: ONE}, end=2)


def wrote_to_its_own_offset(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10)).send(TWO, 0, session=7, at=(11, 20))
    return s.final({0: TWO}, end=1)


def wrote_at_once(s: Any) -> Any:
    """The second write began when the first was being acknowledged."""
    s.send(ONE, 1, session=7, at=(1, 10)).send(TWO, 0, session=7, at=(10, 20))
    return s.final({0: TWO, 1: ONE}, end=2)


def sessions_overtake_one_another(s: Any) -> Any:
    """That is a matter of real time, not of a session."""
    s.send(ONE, 1, session=7, at=(1, 10)).send(TWO, 0, session=8, at=(11, 20))
    return s.final({0: TWO, 1: ONE}, end=2)


def wrote_behind_its_read(s: Any) -> Any:
    s.send(ONE, 1).poll(ONE, 1, process=20, session=7, at=(11, 15))
    s.send(TWO, 0, session=7, at=(16, 20))
    return s.final({0: TWO, 1: ONE}, end=2)


def wrote_where_it_had_read(s: Any) -> Any:
    s.send(ONE, None, type="info").poll(ONE, 0, process=2, at=(11, 15))
    return s.send(TWO, 0, at=(16, 20)).final({0: TWO}, end=1)


def wrote_while_it_read(s: Any) -> Any:
    s.send(ONE, None, type="info", at=(1, 40)).poll(ONE, 1, process=2, at=(11, 16))
    return s.send(TWO, 0, at=(16, 20)).final({0: TWO, 1: ONE}, end=2)


def wrote_behind_another_sessions_read(s: Any) -> Any:
    s.send(ONE, None, type="info", at=(1, 40)).poll(ONE, 1, process=20, session=8, at=(11, 15))
    s.send(TWO, 0, session=7, at=(16, 20)).send(TWO + 1, 0, partition=1)
    return s.final({0: TWO, 1: ONE}, end=2).final({0: TWO + 1}, end=1, partition=1)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    own_write_missed: {"read-your-writes": 1},
    own_write_found_too_late: {"read-your-writes": 1},
    own_write_found: {},
    own_write_not_yet_due: {},
    own_write_missed_without_session: {"read-your-writes": 1},
    own_write_below_where_it_began_to_read: {"read-your-writes": 1},
    first_own_write_below_where_it_began_to_read: {"read-your-writes": 1},
    own_write_damaged: {"read-your-writes": 1, "corrupt-record": 1},
    session_went_back_behind_a_poll_of_two: {"monotonic-reads": 1},
    own_write_left_out_within_a_poll: {"read-your-writes": 1, "int-poll-skip": 1},
    own_write_left_out_between_polls: {"read-your-writes": 1, "poll-skip": 1},
    own_write_without_an_offset_missed: {"read-your-writes": 1},
    session_went_back: {"monotonic-reads": 1},
    session_went_back_behind_a_poll: {"monotonic-reads": 1},
    session_stood_still: {},
    wrote_behind_its_own_write: {"monotonic-writes": 1, "realtime-order": 1},
    wrote_to_its_own_offset: {"monotonic-writes": 1, "inconsistent-offsets": 1, "lost-write": 1},
    wrote_at_once: {},
    sessions_overtake_one_another: {"realtime-order": 1},
    wrote_behind_its_read: {"writes-follow-reads": 1, "realtime-order": 1},
    wrote_where_it_had_read: {"writes-follow-reads": 1, "inconsistent-offsets": 1, "lost-read": 1},
    wrote_while_it_read: {},
    wrote_behind_another_sessions_read: {},
}
