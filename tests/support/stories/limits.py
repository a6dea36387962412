"""Histories at the limits of facts: of several records, the one that counts is neither the first nor the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.isolation import COMMITTED
from tests.support.stories.offsets import two_unknown_sends
from tests.support.stories.sessions import READ
from tests.support.stories.transactions import READ as CAREFUL
from tests.support.stories.transactions import A, observe, txn
from tests.support.stories.watermarks import polled, sampled

ONE, TWO, THREE, FOUR = (process << 40 for process in (1, 2, 3, 4))


def session_went_back_behind_its_furthest_read(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)
    for end in (1, 3, 2):
        s.operation(**READ, start_offset=0, end_offset=end)
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def session_went_back_at_once(s: Any) -> Any:
    """The second read began in the nanosecond in which the first one ended."""
    s.send(ONE, 0).send(ONE + 1, 1)
    s.operation(**READ, start_offset=0, end_offset=2, at=(30, 40))
    s.operation(**READ, start_offset=0, end_offset=1, at=(40, 50))
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def session_polled_further_at_once(s: Any) -> Any:
    """The read began when the poll ended."""
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE + 1, 1, session=7, process=20, at=(31, 40))
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1, at=(40, 50))
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def wrote_behind_its_furthest_write(s: Any) -> Any:
    s.send(ONE, 1, session=7).send(TWO, 3, session=7).send(THREE, 2, session=7)
    return s.final({1: ONE, 2: THREE, 3: TWO}, end=4)


def first_session_wrote_behind_its_own_write(s: Any) -> Any:
    """It has the number 0, and never polls."""
    return s.send(ONE, 1, session=0).send(TWO, 0, session=0).final({0: TWO, 1: ONE}, end=2)


def wrote_behind_its_furthest_read(s: Any) -> Any:
    s.send(ONE, 1).send(ONE + 1, 3).poll(ONE, 1, process=20, session=7)
    s.poll(ONE + 1, 3, process=20, session=7, assignment=2).send(TWO, 2, session=7)
    return s.final({1: ONE, 2: TWO, 3: ONE + 1}, end=4)


def own_write_found_elsewhere_and_too_late(s: Any) -> Any:
    """The write was acknowledged at 0 and found at 5, behind the end of the read that had to find it."""
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(11, 20))
    s.poll(ONE, 5, process=21, session=7, at=(21, 25))
    return s.final({5: ONE}, end=6)


def own_write_found_twice(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10)).poll(ONE, 0, process=20, session=7, at=(12, 20))
    s.operation(**READ, start_offset=0, end_offset=1, at=(11, 20))
    s.poll(ONE, 0, process=21, session=7, at=(31, 40))
    return s.final({0: ONE}, end=1)


def own_tombstone(s: Any) -> Any:
    """A record without a value cannot be recognised when it is read."""
    s.send(ONE, 0, session=7, value=None, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(10, 20))
    return s.final({}, end=1)


def own_write_passed_by_a_reader_of_committed_records(s: Any) -> Any:
    """Two polls and the read itself show how the session reads."""
    s.send(TWO, 0).send(TWO + 1, 1).send(ONE, 2, session=7, at=(31, 40))
    for offset in (0, 1):
        s.poll(TWO + offset, offset, process=20, session=7, committed=True, at=(42, 49))
    s.operation(**READ, start_offset=0, end_offset=3, at=(41, 50), value=COMMITTED)
    return s.final({0: TWO, 1: TWO + 1, 2: ONE}, end=3)


def overtaken_where_it_was_found_first(s: Any) -> Any:
    """The send of unknown outcome lies below the overtaker and above it."""
    s.send(ONE, 2, at=(0, 10)).send(TWO, None, at=(11, 30), type="info").poll(TWO, 1)
    return s.final({1: TWO, 2: ONE, 3: TWO}, end=4)


def overtaken_by_the_first_of_two(s: Any) -> Any:
    """The acknowledgement of the other one came after the send had begun."""
    s.send(ONE, 3, at=(0, 8)).send(THREE, 2, at=(0, 15)).send(TWO, None, at=(11, 30), type="info")
    return s.final({1: TWO, 2: THREE, 3: ONE}, end=4)


def overtaken_by_a_record_without_acknowledgement(s: Any) -> Any:
    s.send(ONE, None, at=(0, 40), type="info").poll(ONE, 2, at=(1, 10))
    return s.send(TWO, None, at=(11, 30), type="info").final({1: TWO, 2: ONE}, end=3)


def seen_again_at_the_nanosecond_of_the_reuse(s: Any) -> Any:
    two_unknown_sends(s).poll(ONE, 0, leader_epoch=1, at=(31, 40))
    s.poll(TWO, 0, leader_epoch=2, process=11, at=(32, 40))
    return s.final({0: TWO}, end=1, leader_epoch=2)


def reused_although_a_later_epoch_had_shown_it(s: Any) -> Any:
    two_unknown_sends(s).poll(ONE, 0, leader_epoch=1).poll(ONE, 0, leader_epoch=3, process=11)
    return s.final({0: TWO}, end=1, leader_epoch=2)


def reused_by_a_record_that_the_same_epoch_had_shown(s: Any) -> Any:
    two_unknown_sends(s).poll(ONE, 0, leader_epoch=1).poll(TWO, 0, leader_epoch=1, process=11)
    return s.final({0: TWO}, end=1, leader_epoch=2)


def reused_at_two_offsets(s: Any) -> Any:
    values = (ONE, TWO, THREE, FOUR)
    for value in values:
        s.send(value, None, type="info")
    s.poll(ONE, 0, leader_epoch=1).poll(TWO, 1, leader_epoch=1)
    return s.final({0: THREE, 1: FOUR}, end=2, leader_epoch=2)


def reused_beside_a_tombstone(s: Any) -> Any:
    """A record without a value may be any of them."""
    two_unknown_sends(s).poll(ONE, 0, leader_epoch=1).poll(None, 0, leader_epoch=1, process=11)
    return s.final({0: TWO}, end=1, leader_epoch=2)


def aborted_write_behind_its_own_write(s: Any) -> Any:
    """The log holds the record, but only acknowledged writes are promised an order."""
    s.send(ONE, 1, session=7).send(TWO, 0, session=7, type="fail", transaction=8)
    return s.final({1: ONE}, end=2)


def misrouted_to_where_another_record_lies(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, 0, partition=1).poll(TWO, 0, error="misrouted")
    return s.final({0: ONE}, end=1).final({0: TWO}, end=1, partition=1)


def two_records_in_one_poll(s: Any, *, fetched: int) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1)
    s.poll(ONE, 0, at=(91, 100), op=1 << 61, fetched=95, **CAREFUL)
    s.poll(ONE + 1, 1, at=(91, 100), op=1 << 61, fetched=fetched, **CAREFUL)
    return txn(s, A, (103, 110), outcome="abort").final({0: ONE, 1: ONE + 1}, end=2)


def above_the_last_stable_offset_with_one_of_two_records(s: Any) -> Any:
    return two_records_in_one_poll(observe(s, 1, 102), fetched=96)


def last_stable_offset_between_two_responses_of_a_poll(s: Any) -> Any:
    return two_records_in_one_poll(observe(s, 1, 97), fetched=98)


def above_the_last_stable_offset_of_a_log_that_grew(s: Any) -> Any:
    """The leader has caught up: its high watermark was not below the end of its log at the beginning of its epoch."""
    s.send(ONE, 0).send(ONE + 1, 1)
    s.poll(ONE + 1, 1, at=(96, 100), **CAREFUL)
    observe(observe(s, 1, 102, high=12, end=11), 20, 104, high=20, end=20)
    return txn(s, A, (103, 110), outcome="abort").final({0: ONE, 1: ONE + 1}, end=2)


def above_the_last_stable_offset_beside_samples_of_another_kind(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1)
    s.poll(ONE + 1, 1, at=(96, 100), **CAREFUL)
    observe(s, 1, 102)
    s.observations.append(s.observations[-1] | {"kind": "other", "leader_epoch": 9, "last_stable": None})
    return txn(s, A, (103, 110), outcome="abort").final({0: ONE, 1: ONE + 1}, end=2)


def poll_above_the_last_stable_offset_that_never_ended(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1)
    s.poll(ONE + 1, 1, at=(96, None), type="info", **CAREFUL)
    return txn(observe(s, 1, 102), A, (103, 110), outcome="abort").final({0: ONE, 1: ONE + 1}, end=2)


def read_above_the_watermark_beside_samples_of_another_kind(s: Any) -> Any:
    sampled(s, 7, (20, 25))
    s.observations.append(s.observations[-1] | {"kind": "other", "leader": 2, "time": 27})
    return polled(sampled(s, 9, (30, 35)))


def a_failed_send_lies_between_two_of_a_transaction(s: Any) -> Any:
    s.send(ONE, 0, transaction=7, at=(0, 30)).send(TWO, 1, type="fail", transaction=8, at=(0, 30))
    s.send(ONE + 1, 2, transaction=7, at=(1, 31))
    return s.final({0: ONE, 2: ONE + 1}, end=3)


def plain_record_skipped_far_from_others(s: Any) -> Any:
    """No reader of committed records got any of the 64 offsets around it."""
    s.send(ONE, 0).send(ONE + 1, 100).send(ONE + 2, 200).poll(ONE + 1, 100, process=11)
    s.poll(ONE, 0, **CAREFUL).poll(ONE + 2, 200, **CAREFUL)
    return s.final({0: ONE, 100: ONE + 1, 200: ONE + 2}, end=201)


def another_record_skipped_than_was_acknowledged(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(TWO, None, type="info").send(ONE + 2, 2).poll(TWO, 1, process=11)
    s.poll(ONE, 0, **CAREFUL).poll(ONE + 2, 2, **CAREFUL)
    return s.final({0: ONE, 1: TWO, 2: ONE + 2}, end=3)


def tombstone_skipped(s: Any) -> Any:
    """Nothing shows that the record that a reader got is the one that was acknowledged."""
    s.send(ONE, 0).send(ONE + 1, 1, value=None).send(ONE + 2, 2).poll(None, 1, process=11)
    s.poll(ONE, 0, **CAREFUL).poll(ONE + 2, 2, **CAREFUL)
    return s.final({0: ONE, 2: ONE + 2}, end=3)


def acknowledged_when_the_final_read_began(s: Any) -> Any:
    """In the same nanosecond, at an unknown offset."""
    s.send(ONE, None, at=(1, 10))
    return s.operation("final-read", process=99, start_offset=0, end_offset=0, at=(10, 20))


def returned_when_the_final_phase_began(s: Any) -> Any:
    """In the same nanosecond, beyond the end of the log."""
    s.send(ONE, None, type="info", at=(0, 5)).poll(ONE, 5, at=(6, 10))
    s.operation("phase", value='{"phase": "final"}', topic=None, partition=None, at=(10, 10))
    return s.final({}, end=0)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    session_went_back_behind_its_furthest_read: {"monotonic-reads": 1},
    session_went_back_at_once: {},
    session_polled_further_at_once: {},
    wrote_behind_its_furthest_write: {"monotonic-writes": 1, "realtime-order": 1},
    first_session_wrote_behind_its_own_write: {"monotonic-writes": 1, "realtime-order": 1},
    wrote_behind_its_furthest_read: {"writes-follow-reads": 1, "realtime-order": 1},
    own_write_found_elsewhere_and_too_late: {"read-your-writes": 1, "duplicate": 1},
    own_write_found_twice: {},
    own_tombstone: {},
    own_write_passed_by_a_reader_of_committed_records: {"read-your-writes": 1},
    overtaken_where_it_was_found_first: {"overtaken-write": 1, "duplicate": 1},
    overtaken_by_the_first_of_two: {"overtaken-write": 1},
    overtaken_by_a_record_without_acknowledgement: {},
    seen_again_at_the_nanosecond_of_the_reuse: {"inconsistent-offsets": 1, "lost-read": 1},
    reused_although_a_later_epoch_had_shown_it: {"inconsistent-offsets": 1, "lost-read": 1},
    reused_by_a_record_that_the_same_epoch_had_shown: {"inconsistent-offsets": 1, "lost-read": 1},
    reused_at_two_offsets: {"offset-reuse": 2, "lost-read": 2},
    aborted_write_behind_its_own_write: {},
    misrouted_to_where_another_record_lies: {"foreign-record": 1},
    above_the_last_stable_offset_with_one_of_two_records: {"read-above-lso": 1},
    last_stable_offset_between_two_responses_of_a_poll: {},
    above_the_last_stable_offset_of_a_log_that_grew: {"read-above-lso": 1, "watermark-above-end": 1},
    above_the_last_stable_offset_beside_samples_of_another_kind: {"read-above-lso": 1},
    poll_above_the_last_stable_offset_that_never_ended: {},
    read_above_the_watermark_beside_samples_of_another_kind: {"read-above-watermark": 1},
    a_failed_send_lies_between_two_of_a_transaction: {},
    plain_record_skipped_far_from_others: {"poll-skip": 1},
    another_record_skipped_than_was_acknowledged: {"inconsistent-offsets": 1, "lost-write": 1},
    tombstone_skipped: {"poll-skip": 1},
    reused_beside_a_tombstone: {"offset-reuse": 1, "lost-read": 1},
    acknowledged_when_the_final_read_began: {"unseen": 1},
    returned_when_the_final_phase_began: {},
}
