"""Histories with events in the same nanosecond, as coarse clocks make them, and with readers that change their
isolation level: equal is not before, and only like is compared with like. Near misses are 1 ns or one level apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ONE, TWO = 1 << 40, 2 << 40  # the values of processes 1 and 2 start here
READ = {"session": 7, "process": 20}
COMMITTED = json.dumps({"committed": True})


def acknowledged_in_the_tick_of_the_final_read(s: Any, *, at: int = 20) -> Any:
    s.send(ONE, 0, at=(1, 5)).send(ONE + 1, 1, at=(10, at))
    s.poll(ONE, 0, process=99, final=True, at=(20, 25))
    return s.operation("final-read", process=99, start_offset=0, end_offset=1, at=(20, 30))


def acknowledged_before_the_final_read_began(s: Any) -> Any:
    return acknowledged_in_the_tick_of_the_final_read(s, at=19)


def returned_when_the_final_read_began(s: Any, *, at: int = 20) -> Any:
    s.send(ONE, 0, at=(1, 5)).send(ONE + 1, None, type="info", at=(10, None)).poll(ONE + 1, 1, at=(15, at))
    s.poll(ONE, 0, process=99, final=True, at=(20, 25))
    return s.operation("final-read", process=99, start_offset=0, end_offset=1, at=(20, 30))


def returned_before_the_final_read_began(s: Any) -> Any:
    return returned_when_the_final_read_began(s, at=19)


def returned_in_the_tick_of_the_final_phase(s: Any, *, at: int = 20) -> Any:
    s.harness("phase", {"phase": "final"}, at=(20, 20))
    s.send(ONE, 0, at=(1, 5)).send(ONE + 1, None, type="info", at=(10, None)).poll(ONE + 1, 1, at=(15, at))
    s.poll(ONE, 0, process=99, final=True, at=(40, 45))
    return s.operation("final-read", process=99, start_offset=0, end_offset=1, at=(40, 50))


def returned_before_the_final_phase_began(s: Any) -> Any:
    return returned_in_the_tick_of_the_final_phase(s, at=19)


def sent_asynchronously(s: Any, acknowledged: int) -> Any:
    """A session sent a record and read at once. The acknowledgement came at that time."""
    s.send(ONE, 0, session=7, at=(1, acknowledged))
    s.operation("read", **READ, start_offset=0, end_offset=0, at=(20, 30))
    s.now = 100
    return s.final({0: ONE}, end=1)


def own_write_acknowledged_when_the_read_began(s: Any) -> Any:
    return sent_asynchronously(s, 20)


def own_write_acknowledged_before_the_read_began(s: Any) -> Any:
    return sent_asynchronously(s, 19)


def own_write_missed_by_the_read_after_next(s: Any) -> Any:
    """The read that began with the acknowledgement does not count, and the next one does."""
    sent_asynchronously(s, 20)
    return s.operation("read", **READ, start_offset=0, end_offset=0, at=(40, 50))


def reads_that_follow_each_other(s: Any, began: int) -> Any:
    """Of one session, at that time and 1 ns after the other one had ended."""
    s.send(TWO, 0, at=(1, 9)).send(TWO + 1, 1, at=(1, 9))
    s.operation("read", **READ, start_offset=0, end_offset=2, at=(10, 20))
    s.operation("read", **READ, start_offset=0, end_offset=1, at=(began, 30))
    s.now = 100
    return s.final({0: TWO, 1: TWO + 1}, end=2)


def session_went_back_when_the_other_read_ended(s: Any) -> Any:
    return reads_that_follow_each_other(s, 20)


def session_went_back_after_the_other_read_had_ended(s: Any) -> Any:
    return reads_that_follow_each_other(s, 21)


def transactional(s: Any) -> Any:
    """Three records: one that is committed, and two of a transaction that is open for long."""
    s.send(TWO, 0, transaction=70, at=(1, 9))
    return s.send(TWO + 1, 1, transaction=71, type="fail", at=(1, 90)).send(TWO + 2, 2, at=(1, 9))


def polled(s: Any, *offsets: int, at: tuple[int, int], committed: bool) -> Any:
    for offset in offsets:
        more = READ | {"process": 21 if committed else 20}
        s.poll(TWO + offset, offset, **more, op=(1 << 50) + at[0], at=at, committed=committed)
    return s


def ended(s: Any) -> Any:
    s.now = 200
    return s.final({0: TWO, 2: TWO + 2}, end=3, committed=True)


def session_read_uncommitted_then_committed_records(s: Any) -> Any:
    polled(transactional(s), 0, 1, 2, at=(10, 15), committed=False)
    s.operation("read", **READ, start_offset=0, end_offset=3, at=(10, 20))
    polled(s, 0, at=(30, 35), committed=True)
    s.operation("read", **READ, start_offset=0, end_offset=1, value=COMMITTED, at=(30, 40))
    return ended(s)


def session_polled_uncommitted_then_committed_records(s: Any) -> Any:
    """The reads do not say how they read."""
    polled(transactional(s), 0, 1, 2, at=(10, 15), committed=False)
    polled(s, 0, at=(30, 35), committed=True)
    s.operation("read", **READ, start_offset=0, end_offset=1, at=(30, 40))
    return ended(s)


def session_went_back_among_committed_records(s: Any) -> Any:
    polled(transactional(s), 0, 2, at=(100, 105), committed=True)
    s.operation("read", **READ, start_offset=0, end_offset=3, value=COMMITTED, at=(100, 110))
    s.operation("read", **READ, start_offset=3, end_offset=1, value=COMMITTED, at=(120, 130))
    return ended(s)


def session_went_back_among_uncommitted_records(s: Any) -> Any:
    """That it then reads committed records does not excuse it."""
    polled(transactional(s), 0, 1, 2, at=(10, 15), committed=False)
    s.operation("read", **READ, start_offset=0, end_offset=3, at=(10, 20))
    s.operation("read", **READ, start_offset=3, end_offset=2, at=(21, 25))
    polled(s, 0, at=(30, 35), committed=True)
    s.operation("read", **READ, start_offset=0, end_offset=1, value=COMMITTED, at=(30, 40))
    return ended(s)


def session_read_less_without_isolation_than_with_it(s: Any) -> Any:
    """The last stable offset is never above the high watermark."""
    polled(transactional(s), 0, 2, at=(100, 105), committed=True)
    s.operation("read", **READ, start_offset=0, end_offset=3, value=COMMITTED, at=(100, 110))
    s.operation("read", **READ, start_offset=3, end_offset=2, at=(120, 130))
    return ended(s)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    acknowledged_in_the_tick_of_the_final_read: {"unseen": 1},
    acknowledged_before_the_final_read_began: {"lost-write": 1},
    returned_when_the_final_read_began: {},
    returned_before_the_final_read_began: {"lost-read": 1},
    returned_in_the_tick_of_the_final_phase: {},
    returned_before_the_final_phase_began: {"lost-read": 1},
    own_write_acknowledged_when_the_read_began: {},
    own_write_acknowledged_before_the_read_began: {"read-your-writes": 1},
    own_write_missed_by_the_read_after_next: {"read-your-writes": 1},
    session_went_back_when_the_other_read_ended: {},
    session_went_back_after_the_other_read_had_ended: {"monotonic-reads": 1},
    session_read_uncommitted_then_committed_records: {},
    session_polled_uncommitted_then_committed_records: {},
    session_went_back_among_committed_records: {"monotonic-reads": 1},
    session_went_back_among_uncommitted_records: {"monotonic-reads": 1},
    session_read_less_without_isolation_than_with_it: {"monotonic-reads": 1},
}
