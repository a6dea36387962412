"""Histories of keys that were deleted, and of readers that got the tombstone, passed it, or stopped before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.removals import created

ONE = 1 << 40  # the values of process 1 start here
DAY = "86400000"
RECORDS: dict[int, dict[str, Any]] = {
    0: {"key": 4, "tombstone": False},
    1: {"key": 4, "tombstone": True},
    2: {"key": 5, "tombstone": False},
    3: {"key": 6, "tombstone": False},
    4: {"key": 6, "tombstone": True},
    5: {"key": 7, "tombstone": False},
    6: {"key": 4, "tombstone": False},
    7: {"key": 4, "tombstone": True},
    8: {"key": 5, "tombstone": False},
}
"""The columns of the records, by offset. The value of each is ONE + offset."""


def compacted(s: Any, *, retention: str = DAY, **config: str) -> Any:
    return created(s, **{"cleanup_policy": "compact", "delete_retention_ms": retention} | config)


def write(s: Any, *offsets: int, type: str = "ok", **columns: Any) -> Any:
    for offset in offsets:
        acknowledged = offset if type == "ok" else None
        s.send(ONE + offset, acknowledged, type=type, **RECORDS[offset] | columns)
    return s


def read(s: Any, *offsets: int, **columns: Any) -> Any:
    for offset in offsets:
        s.poll(ONE + offset, offset, **RECORDS[offset] | columns)
    return s


def final(s: Any, *offsets: int, start: int = 0, end: int = 3) -> Any:
    """A completed final read that found these offsets."""
    at = (s.now + 1, s.now + 2 + 10 * len(offsets))
    read(s, *offsets, process=99, final=True)
    return s.operation("final-read", process=99, start_offset=start, end_offset=end, at=at)


def deleted(s: Any, **config: str) -> Any:
    """Key 4 has a value at offset 0, and was deleted at offset 1."""
    return write(compacted(s, **config), 0, 1, 2)


def reader_passed_the_tombstone(s: Any) -> Any:
    return final(read(deleted(s), 0, 2), 1, 2)


def reader_passed_a_tombstone_of_unknown_outcome(s: Any) -> Any:
    """Another reader got it. The send of the value has an unknown outcome, too, and was found."""
    write(compacted(s), 0, 1, type="info")
    return final(read(write(s, 2), 0, 2), 1, 2)


def reader_passed_what_a_failed_send_follows(s: Any) -> Any:
    deleted(s).send(ONE + 3, None, key=4, type="fail")
    return final(read(s, 0, 2), 1, 2)


def log_has_the_value_again(s: Any) -> Any:
    """The tombstone is lost, after a reader got it."""
    return final(read(deleted(s), 0, 1, 2), 0, 2)


def log_has_the_value_although_the_tombstone_may_go(s: Any) -> Any:
    return final(deleted(s, retention="0"), 0, 2)


def reader_of_committed_records_passed_the_tombstone(s: Any) -> Any:
    return final(read(deleted(s), 0, 2, committed=True), 1, 2)


def reader_passed_what_a_reader_of_committed_records_got(s: Any) -> Any:
    write(compacted(s), 0, 1, 2, type="info", transaction=70)
    read(s, 0, 1, 2, committed=True, process=11)
    return final(read(s, 0, 2, committed=True), 1, 2)


def two_keys_and_two_readers(s: Any) -> Any:
    """Of key 6, the second reader got the tombstone. Both take key 4 for alive."""
    write(deleted(s), 3, 4, 5)
    read(s, 0, 3, 5)
    read(s, 0, 3, 4, 5, process=11)
    return final(s, 1, 2, 4, 5, end=6)


def reader_got_the_tombstone(s: Any) -> Any:
    return final(read(deleted(s), 0, 1, 2), 1, 2)


def reader_got_the_tombstone_without_knowing_it(s: Any) -> Any:
    """The history of that reader does not say what a tombstone is."""
    read(deleted(s), 0)
    return final(read(read(s, 1, tombstone=None), 2), 1, 2)


def reader_passed_tombstone_and_value(s: Any) -> Any:
    """It began when both were gone."""
    return final(read(read(deleted(s, retention="0"), 0, 1), 2, process=11), 2)


def reader_stopped_before_the_tombstone(s: Any) -> Any:
    return final(read(deleted(s), 0), 1, 2)


def reader_went_elsewhere(s: Any) -> Any:
    """It was beyond the tombstone in another assignment, or in another partition, or as a member in another
    generation. Another process was, too."""
    read(read(deleted(s), 0), 2, assignment=2)
    read(write(s, 2, partition=1), 2, partition=1)
    read(read(s, 0, process=12, generation=1), 2, process=12, generation=2)
    return final(read(s, 2, process=13), 1, 2)


def written_again(s: Any) -> Any:
    """The tombstone may have gone for that reason. The reader was not there yet."""
    return final(read(write(deleted(s), 6), 0, 2), 2, 6, end=7)


def read_again(s: Any) -> Any:
    """Nobody knows whether the later record was acknowledged, but a reader got it."""
    read(write(deleted(s), 6, type="info"), 0, 2)
    return final(read(s, 6, process=11), 1, 2, 6, end=7)


def may_have_been_written_again(s: Any) -> Any:
    return final(read(write(deleted(s), 6, type="info"), 0, 2), 1, 2)


def written_again_at_an_unknown_offset(s: Any) -> Any:
    return final(read(deleted(s).send(ONE + 6, None, key=4), 0, 2), 1, 2)


def reader_has_an_earlier_tombstone(s: Any) -> Any:
    return final(read(write(deleted(s), 7, 8), 0, 1, 2, 8), 7, 8, end=9)


def tombstone_in_another_log(s: Any) -> Any:
    write(write(compacted(s), 0, 2), 1, partition=1)
    return final(read(read(s, 0, 2), 1, partition=1), 0, 2)


def tombstone_that_no_reader_of_committed_records_got(s: Any) -> Any:
    """Its transaction may have been aborted. The second reader ignores that."""
    write(write(write(compacted(s), 0), 1, type="info", transaction=70), 2)
    read(s, 0, 2, committed=True)
    return final(read(s, 0, 1, 2, process=11), 1, 2)


def tombstone_was_removed_at_the_beginning(s: Any) -> Any:
    deleted(s, cleanup_policy="compact,delete", retention_ms="0")
    return final(read(s, 0, 2), 2, start=2)


def beginning_was_removed_up_to_the_tombstone(s: Any) -> Any:
    deleted(s, cleanup_policy="compact,delete", retention_ms="0")
    return final(read(s, 0, 2), 1, 2, start=1)


def nothing_is_compacted(s: Any) -> Any:
    """A reader that leaves out a record does so whatever its key. The topic beside it is not meant."""
    compacted(created(s), topic="u")
    write(s, 0, 1, 2)
    return final(read(s, 0, 2), 0, 1, 2)


def tombstone_gone_after_its_time(s: Any) -> Any:
    return final(read(deleted(s, retention="0"), 0, 1, 2), 2)


def tombstone_gone_before_its_time(s: Any) -> Any:
    return final(read(deleted(s), 0, 1, 2), 2)


def tombstone_gone_at_the_end_of_its_time(s: Any, *, last: int = 1_000_000) -> Any:
    """It stays for 1 ms, and the run is just as long. The row of the topic begins at 1."""
    deleted(s, retention="1")
    read(s, 0, 1, 2)
    s.poll(ONE + 2, 2, process=98, at=(last, last + 1))
    return final_at(s, last)


def final_at(s: Any, at: int) -> Any:
    """A final read at a given time found offset 2 only."""
    s.poll(ONE + 2, 2, process=99, final=True, at=(at, at + 1))
    return s.operation("final-read", process=99, start_offset=0, end_offset=3, at=(at, at + 1))


def tombstone_gone_just_after_its_time(s: Any) -> Any:
    return tombstone_gone_at_the_end_of_its_time(s, last=1_000_001)


def tombstone_gone_where_its_time_was_shorter_for_a_while(s: Any) -> Any:
    compacted(deleted(s), retention="0")
    return final(read(s, 0, 1, 2), 2)


def tombstone_gone_just_after_its_time_in_a_topic_that_was_changed(s: Any) -> Any:
    compacted(tombstone_gone_just_after_its_time(s), retention="1", at=(900_000, 900_001))
    return s


def tombstone_gone_although_its_time_is_unknown(s: Any) -> Any:
    created(s, cleanup_policy="compact")
    return final(read(write(s, 0, 1, 2), 0, 1, 2), 2)


def tombstone_of_unknown_outcome_may_have_gone(s: Any) -> Any:
    write(compacted(s, retention="0"), 0, 2)
    s.send(ONE + 1, None, key=4, tombstone=True, type="info")
    return final(read(s, 0, 2), 2)


def tombstone_of_unknown_outcome_has_to_stay(s: Any) -> Any:
    write(compacted(s), 0, 2)
    s.send(ONE + 1, None, key=4, tombstone=True, type="info")
    return final(read(s, 0, 2), 2)


def value_behind_a_tombstone_is_lost(s: Any) -> Any:
    deleted(s, retention="0").send(ONE + 3, 3, key=4)
    return final(s, 2, end=4)


def failed_tombstone_removes_nothing(s: Any) -> Any:
    write(compacted(s, retention="0"), 0, 2)
    s.send(ONE + 1, None, key=4, tombstone=True, type="fail")
    return final(read(s, 0, 2), 2)


def tombstone_beside_a_topic_that_forgets_them(s: Any) -> Any:
    compacted(compacted(s, topic="u", retention="0"))
    return final(read(write(s, 0, 1, 2), 0, 1, 2), 2)


def writer_stopped_before_the_tombstone(s: Any) -> Any:
    """It polled the key, and its own records behind the tombstone are nothing that it polled."""
    return final(read(deleted(s), 0, process=1, assignment=0), 1, 2)


def writer_passed_its_own_tombstone(s: Any) -> Any:
    """That it wrote the tombstone does not mean that it polled it."""
    return final(read(deleted(s), 0, 2, process=1, assignment=0), 1, 2)


def tombstone_in_an_aborted_transaction(s: Any) -> Any:
    """A broker had acknowledged its offset."""
    write(compacted(s), 0, 2)
    s.send(ONE + 1, 1, type="fail", **RECORDS[1])
    return final(read(s, 0, 2), 0, 2)


def reader_passed_what_only_one_of_two_readers_had_to_get(s: Any) -> Any:
    """A reader of committed records got the tombstone, so that this one has to. Another reader got it as well."""
    write(compacted(s), 0, 1, 2, type="info")
    read(s, 0, 1, 2, committed=False, process=12)
    read(s, 0, 1, 2, committed=True, process=11)
    return final(read(s, 0, 2, committed=True), 1, 2)


def may_have_been_written_again_at_a_known_offset(s: Any) -> Any:
    """The outcome of that send is unknown. A broker had acknowledged its offset."""
    deleted(s).send(ONE + 6, 6, type="info", **RECORDS[6])
    return final(read(s, 0, 2), 1, 2)


def reader_passed_the_tombstone_of_a_key_with_a_foreign_record(s: Any) -> Any:
    """The foreign record lies before the tombstone."""
    write(compacted(s), 0, 7, 8)
    s.poll(None, 1, key=4, error="foreign", process=12)
    return final(read(s, 0, 8), 7, 8, end=9)


def one_of_two_keys_may_have_been_written_again(s: Any) -> Any:
    """Nothing is known of key 6, which was deleted as well. Key 4 has risen."""
    write(deleted(s), 3, 4).send(ONE + 9, None, key=6, type="info")
    return final(read(s, 0, 2, 3), 1, 2, 4, end=5)


def reader_passed_an_aborted_tombstone(s: Any) -> Any:
    """Other readers without isolation got it: the key is alive."""
    write(compacted(s), 0, 2)
    s.send(ONE + 1, 1, type="fail", transaction=70, **RECORDS[1])
    return final(read(read(s, 0, 1, 2), 0, 2, process=11), 0, 2)


def reader_has_an_aborted_value_behind_the_tombstone(s: Any) -> Any:
    """What the key has for it is the value before: it never got the tombstone."""
    deleted(s).send(ONE + 6, 6, type="fail", transaction=70, **RECORDS[6])
    return final(read(s, 0, 2, 6), 1, 2, end=7)


def reader_passed_a_tombstone_that_may_have_been_aborted(s: Any) -> Any:
    """The cleaner may have removed it because it was."""
    write(write(write(compacted(s), 0), 1, type="info", transaction=70), 2)
    return final(read(read(s, 0, 1, 2), 0, 2, process=11), 0, 2)


def value_lost_behind_a_tombstone_that_was_polled(s: Any) -> Any:
    """The tombstone was not acknowledged, and a poll shows where it was: before the last value of the key."""
    write(write(write(compacted(s, retention="0"), 0), 1, type="info"), 2, 6)
    return final(read(s, 1, 2), 2, end=7)


def value_lost_behind_a_tombstone_that_its_reader_does_not_know(s: Any) -> Any:
    """Only the send says that it is a tombstone."""
    write(write(write(compacted(s, retention="0"), 0), 1, type="info"), 2, 6)
    return final(read(read(s, 1, tombstone=None), 2), 2, end=7)


def value_before_a_tombstone_that_was_polled(s: Any) -> Any:
    """Both are gone, and may be."""
    write(write(write(compacted(s, retention="0"), 0), 1, type="info"), 2)
    return final(read(s, 1, 2), 2)


def value_of_a_key_with_an_acknowledged_tombstone_at_a_polled_offset(s: Any) -> Any:
    """The acknowledgement lacks the offset, which a poll shows."""
    write(compacted(s, retention="0"), 0, 2)
    s.send(ONE + 1, None, **RECORDS[1]).send(ONE + 6, 6, **RECORDS[6])
    return final(read(s, 1, 2), 2, end=7)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    reader_passed_the_tombstone: {"risen-key": 1},
    reader_passed_a_tombstone_of_unknown_outcome: {"risen-key": 1},
    reader_passed_what_a_failed_send_follows: {"risen-key": 1},
    log_has_the_value_again: {"risen-key": 1, "lost-write": 1},
    log_has_the_value_although_the_tombstone_may_go: {"risen-key": 1},
    reader_of_committed_records_passed_the_tombstone: {"risen-key": 1},
    reader_passed_what_a_reader_of_committed_records_got: {"risen-key": 1},
    two_keys_and_two_readers: {"risen-key": 3},
    writer_stopped_before_the_tombstone: {},
    writer_passed_its_own_tombstone: {"risen-key": 1},
    tombstone_in_an_aborted_transaction: {},
    reader_passed_what_only_one_of_two_readers_had_to_get: {"risen-key": 1},
    may_have_been_written_again_at_a_known_offset: {},
    reader_passed_the_tombstone_of_a_key_with_a_foreign_record: {"risen-key": 1, "foreign-record": 1},
    one_of_two_keys_may_have_been_written_again: {"risen-key": 1},
    reader_passed_an_aborted_tombstone: {},
    reader_has_an_aborted_value_behind_the_tombstone: {"risen-key": 1},
    reader_passed_a_tombstone_that_may_have_been_aborted: {},
    value_lost_behind_a_tombstone_that_was_polled: {"lost-write": 1},
    value_lost_behind_a_tombstone_that_its_reader_does_not_know: {"lost-write": 1},
    value_before_a_tombstone_that_was_polled: {},
    value_of_a_key_with_an_acknowledged_tombstone_at_a_polled_offset: {"lost-write": 1},
    reader_got_the_tombstone: {},
    reader_got_the_tombstone_without_knowing_it: {},
    reader_passed_tombstone_and_value: {},
    reader_stopped_before_the_tombstone: {},
    reader_went_elsewhere: {},
    written_again: {},
    read_again: {},
    may_have_been_written_again: {},
    written_again_at_an_unknown_offset: {},
    reader_has_an_earlier_tombstone: {},
    tombstone_in_another_log: {},
    tombstone_that_no_reader_of_committed_records_got: {},
    tombstone_was_removed_at_the_beginning: {"expired": 1},
    beginning_was_removed_up_to_the_tombstone: {"risen-key": 1},
    nothing_is_compacted: {"poll-skip": 1},
    tombstone_gone_after_its_time: {},
    tombstone_gone_before_its_time: {"lost-write": 1},
    tombstone_gone_at_the_end_of_its_time: {"lost-write": 1},
    tombstone_gone_just_after_its_time: {},
    tombstone_gone_where_its_time_was_shorter_for_a_while: {},
    tombstone_gone_just_after_its_time_in_a_topic_that_was_changed: {},
    tombstone_gone_although_its_time_is_unknown: {},
    tombstone_of_unknown_outcome_may_have_gone: {},
    tombstone_of_unknown_outcome_has_to_stay: {"lost-write": 1},
    value_behind_a_tombstone_is_lost: {"lost-write": 1},
    failed_tombstone_removes_nothing: {"lost-write": 1},
    tombstone_beside_a_topic_that_forgets_them: {"lost-write": 1},
}
