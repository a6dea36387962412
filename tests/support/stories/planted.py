"""Histories with one anomaly each, and near misses: what is found in them, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.registry import CHECKS, bound_checks
from tests.support.stories import groups as group_stories
from tests.support.stories import transactions as transaction_stories

ONE = 1 << 40  # values of process 1
TWO = 2 << 40
READ = {"f": "read", "session": 7, "process": 20}


def clean(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(TWO, 2).send(TWO + 1, None, type="info").send(
        TWO + 2, None, type="fail"
    )
    s.poll(ONE, 0).poll(ONE + 1, 1).poll(TWO, 2)
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3)


def lost_in_the_middle(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2)
    return s.final({0: ONE, 2: ONE + 2}, end=3)


def lost_although_read_before(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({0: ONE}, end=1)


def lost_and_replaced(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, 0)
    return s.final({0: TWO}, end=1)


def lost_although_an_earlier_final_read_had_it(s: Any) -> Any:
    s.send(ONE, 0)
    s.poll(ONE, 0, process=98, final=True)
    s.operation("final-read", process=98, type="fail", start_offset=0, end_offset=1)
    return s.final({}, end=1)


def lost_although_another_final_read_had_it(s: Any) -> Any:
    s.send(ONE, 0)
    return s.final({}, end=1).poll(ONE, 0, process=98, final=True)


def lost_although_the_same_client_had_it_before(s: Any) -> Any:
    s.send(ONE, 0).poll(ONE, 0, process=99, final=True)
    return s.final({}, end=1)


def lost_although_the_final_client_polled_it_otherwise(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).final({}, end=2)
    return s.poll(ONE, 0, process=99, final=False).poll(ONE + 1, 1, process=99, final=True, type="info")


def lost_with_a_late_acknowledgement(s: Any) -> Any:
    """Acknowledged after the final read began, but below the end that it was told."""
    return s.send(ONE, 0, at=(1, 90)).send(ONE + 1, 1, at=(2, 3)).final({1: ONE + 1}, end=2)


def lost_at_the_log_start(s: Any) -> Any:
    return s.send(ONE, 5).final({}, start=5, end=6)


def lost_at_no_known_offset(s: Any) -> Any:
    return s.send(ONE, None).final({}, end=0)


def lost_to_a_reader_without_final_read(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1)
    return s.poll(ONE + 1, 1)


def lost_at_the_top_without_final_read(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, 0)
    return s.poll(TWO, 0)


def unseen(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0)


def unseen_without_any_read(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, None)


def unseen_behind_the_final_read(s: Any) -> Any:
    """Acknowledged after the final read had begun and beyond its end: it did not have to be there."""
    return s.send(ONE, 0).final({0: ONE}, end=1).send(ONE + 1, 1)


def read_behind_the_final_read(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE}, end=1).send(ONE + 1, 1).poll(ONE + 1, 1)


def expired(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2).send(ONE + 3, 3).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({3: ONE + 3}, start=3, end=4)


def duplicate(s: Any) -> Any:
    s.send(ONE, 0)
    return s.final({0: ONE, 1: ONE}, end=2)


def duplicate_by_acknowledgement(s: Any) -> Any:
    return s.send(ONE, 0).final({1: ONE}, end=2)


def duplicate_by_an_info_poll(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 5, type="info").final({0: ONE}, end=1)


def not_a_duplicate_in_two_partitions(s: Any) -> Any:
    s.send(ONE, 0).send(ONE, 3, partition=1, process=2)
    return s.final({0: ONE}, end=1).final({3: ONE}, end=4, partition=1)


def inconsistent(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.poll(TWO, 0).final({0: ONE}, end=1)


def unsure(s: Any) -> Any:
    return s.send(ONE, None, type="info").send(TWO, None, type="info")


def inconsistent_in_one_epoch(s: Any) -> Any:
    return unsure(s).poll(ONE, 0, leader_epoch=1).final({0: TWO}, end=1, leader_epoch=1)


def inconsistent_with_the_first_epoch(s: Any) -> Any:
    """No epoch was before 0: the acknowledgement is of the same one."""
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.final({0: TWO}, end=1, leader_epoch=0)


def inconsistent_in_turns(s: Any) -> Any:
    """Two leaders at once: the old one is still read when the new one has been."""
    unsure(s).poll(ONE, 0, leader_epoch=1).poll(TWO, 0, leader_epoch=2, process=11)
    return s.poll(ONE, 0, leader_epoch=1, process=12).final({0: TWO}, end=1, leader_epoch=2)


def inconsistent_backwards(s: Any) -> Any:
    return unsure(s).poll(ONE, 0, leader_epoch=2).final({0: TWO}, end=1, leader_epoch=1)


def inconsistent_after_a_reuse(s: Any) -> Any:
    unsure(s).send(ONE + 1, None, type="info").poll(ONE, 0, leader_epoch=1)
    return s.poll(TWO, 0, leader_epoch=2, process=11).final({0: ONE + 1}, end=1, leader_epoch=2)


def reused(s: Any) -> Any:
    return unsure(s).poll(ONE, 0, leader_epoch=1).final({0: TWO}, end=1, leader_epoch=2)


def reused_after_an_acknowledgement(s: Any) -> Any:
    s.send(ONE, 0).send(TWO, None, type="info")
    return s.final({0: TWO}, end=1, leader_epoch=2)


def reused_twice(s: Any) -> Any:
    unsure(s).send(ONE + 1, None, type="info").poll(ONE, 0, leader_epoch=1)
    return s.poll(TWO, 0, leader_epoch=2, process=11).final({0: ONE + 1}, end=1, leader_epoch=3)


def a_later_epoch_read_the_same(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0, leader_epoch=1).final({0: ONE}, end=1, leader_epoch=2)


def went_back(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE, 0)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def stood_still(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0).poll(ONE, 0).final({0: ONE}, end=1)


def went_back_after_a_seek(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0).poll(ONE, 0, assignment=2).final({0: ONE}, end=1)


def went_back_inside_a_poll(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE + 1, 1, op=5).poll(ONE, 0, op=5)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def stood_still_inside_a_poll(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0, op=5).poll(ONE, 0, op=5).final({0: ONE}, end=1)


def three(s: Any, **more: Any) -> Any:
    return s.send(ONE, 0, **more).send(ONE + 1, 1, **more).send(ONE + 2, 2, **more)


THREE = {0: ONE, 1: ONE + 1, 2: ONE + 2}


def keyed_records_went_back(s: Any) -> Any:
    """Offset 1 is not below the one before it, but below the one of the same key."""
    three(s).poll(ONE + 2, 2, key=4).poll(ONE, 0, key=5).poll(ONE + 1, 1, key=4)
    return s.final(THREE, end=3)


def keyed_records_went_back_inside_a_poll(s: Any) -> Any:
    three(s).poll(ONE + 2, 2, key=4, op=5).poll(ONE, 0, key=5, op=6).poll(ONE + 1, 1, key=4, op=5)
    return s.final(THREE, end=3)


def keyed_records_of_several_clients(s: Any) -> Any:
    """Neither of one process nor of one assignment."""
    three(s).poll(ONE + 2, 2, key=4).poll(ONE, 0, key=4, process=11).poll(ONE + 1, 1, key=4, assignment=2)
    return s.final(THREE, end=3)


def keyed_sends_went_back(s: Any) -> Any:
    s.send(ONE, 2, key=4, at=(0, 20)).send(ONE + 1, 0, key=5, at=(1, 21)).send(ONE + 2, 1, key=4, at=(2, 22))
    return s.final({0: ONE + 1, 1: ONE + 2, 2: ONE}, end=3)


def keyed_sends_went_back_inside_a_transaction(s: Any) -> Any:
    in_it: dict[str, Any] = {"transaction": 7}
    s.send(ONE, 2, key=4, at=(0, 20), **in_it).send(ONE + 1, 0, key=5, at=(1, 21))
    s.send(ONE + 2, 1, key=4, at=(2, 22), **in_it)
    return s.final({0: ONE + 1, 1: ONE + 2, 2: ONE}, end=3)


def member(s: Any, event: str, generation: int, partition: int | None = 0) -> Any:
    value = f'{{"event": "{event}", "member": "m"}}'
    return s.operation("member", partition=partition, generation=generation, value=value)


def kept_partition_went_back(s: Any) -> Any:
    """The member was assigned another partition, and kept this one."""
    three(s).poll(ONE, 0, generation=1).poll(ONE + 1, 1, generation=1)
    member(s, "assigned", 2, partition=1)
    member(s, "revoked", 2)
    return s.poll(ONE + 1, 1, generation=2).poll(ONE + 2, 2, generation=2).final(THREE, end=3)


def kept_partition_was_skipped(s: Any) -> Any:
    three(s).poll(ONE, 0, generation=1)
    member(s, "joined", 2, partition=None)
    return s.poll(ONE + 2, 2, generation=2).final(THREE, end=3)


def kept_partition_goes_on(s: Any) -> Any:
    three(s).poll(ONE, 0, generation=1).poll(ONE + 1, 1, generation=1).poll(ONE + 2, 2, generation=4)
    return s.final(THREE, end=3)


def partition_was_assigned_anew(s: Any) -> Any:
    """It begins at what was committed: before or behind what this member polled last."""
    member(three(s), "assigned", 1).poll(ONE, 0, generation=1).poll(ONE + 1, 1, generation=1)
    member(s, "assigned", 2).poll(ONE, 0, generation=2)
    member(s, "assigned", 3).poll(ONE + 2, 2, generation=4)
    return s.final(THREE, end=3)


def skipped(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 9).poll(ONE, 0).poll(ONE + 2, 9)
    return s.final({0: ONE, 1: ONE + 1, 9: ONE + 2}, end=10)


def skipped_inside_a_poll(s: Any) -> Any:
    three(s).poll(ONE, 0, op=5).poll(ONE + 2, 2, op=5)
    return s.final(THREE, end=3)


def skipped_over_blocks(s: Any) -> Any:
    """Of the offsets that are looked at together, the first and the last: 63 and 64."""
    s.send(ONE, 0).send(ONE + 1, 63).send(ONE + 2, 64).send(ONE + 3, 200)
    s.poll(ONE, 0).poll(ONE + 2, 64)
    s.poll(ONE + 1, 63, process=11).poll(ONE + 3, 200, process=11)
    return s.final({0: ONE, 63: ONE + 1, 64: ONE + 2, 200: ONE + 3}, end=201)


def skipped_a_hole(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1_000_000_000)
    return s.final({0: ONE, 1_000_000_000: ONE + 1}, end=1_000_000_001)


def skipped_what_was_aborted(s: Any) -> Any:
    """Readers with isolation are not given it."""
    s.send(ONE, 0).send(ONE + 1, 1, type="fail", transaction=7).send(ONE + 2, 2)
    s.poll(ONE, 0).poll(ONE + 1, 1).poll(ONE + 2, 2)
    return s.final({0: ONE, 2: ONE + 2}, end=3, committed=True)


def skipped_what_was_committed(s: Any) -> Any:
    three(s).poll(ONE, 0, committed=True).poll(ONE + 2, 2, committed=True)
    return s.final(THREE, end=3, committed=True)


def sent_out_of_order(s: Any) -> Any:
    """In flight at once."""
    s.send(ONE, 1, at=(0, 20)).send(ONE + 1, 0, at=(1, 21))
    return s.final({0: ONE + 1, 1: ONE}, end=2)


def sent_to_the_same_offset(s: Any) -> Any:
    return s.send(ONE, 0).send(ONE + 1, 0).final({0: ONE + 1}, end=1)


def sent_out_of_order_in_a_transaction(s: Any) -> Any:
    s.send(ONE, 1, at=(0, 20), transaction=7).send(ONE + 1, 0, at=(1, 21), transaction=7)
    return s.final({0: ONE + 1, 1: ONE}, end=2)


def sent_to_the_same_offset_in_a_transaction(s: Any) -> Any:
    s.send(ONE, 0, at=(0, 20), transaction=7).send(ONE + 1, 0, at=(1, 21), transaction=7)
    return s.final({0: ONE + 1}, end=1)


def sent_out_of_order_over_transactions(s: Any) -> Any:
    s.send(ONE, 1, at=(0, 20), transaction=7).send(ONE + 1, 0, at=(1, 21), transaction=8)
    return s.final({0: ONE + 1, 1: ONE}, end=2)


def transactions_interleave(s: Any) -> Any:
    s.send(ONE, 0, transaction=7, at=(0, 30)).send(TWO, 1, at=(0, 30))
    s.send(ONE + 1, 2, transaction=7, at=(1, 31))
    return s.final({0: ONE, 1: TWO, 2: ONE + 1}, end=3)


def transactions_interleave_unread(s: Any) -> Any:
    s.send(ONE, 0, transaction=7, at=(0, 30)).send(TWO, 1, at=(0, 30))
    return s.send(ONE + 1, 2, transaction=7, at=(1, 31))


def a_marker_lies_between_transactions(s: Any) -> Any:
    s.send(ONE, 0, transaction=7).send(ONE + 1, 1, transaction=7).send(ONE + 2, 3, transaction=8)
    s.send(ONE + 3, 5, transaction=8)
    return s.final({0: ONE, 1: ONE + 1, 3: ONE + 2, 5: ONE + 3}, end=6)


def others_write_between_transactions(s: Any) -> Any:
    s.send(ONE, 0, transaction=7, at=(0, 30)).send(TWO, 1, at=(0, 30))
    s.send(ONE + 1, 2, transaction=8, at=(1, 31))
    return s.final({0: ONE, 1: TWO, 2: ONE + 1}, end=3)


def overtaken(s: Any) -> Any:
    """By one that is not its neighbour."""
    s.send(ONE, 2, at=(0, 10)).send(TWO, 1, at=(5, 30)).send(3 << 40, 0, at=(11, 40))
    return s.final({0: 3 << 40, 1: TWO, 2: ONE}, end=3)


def concurrent(s: Any) -> Any:
    """Acknowledged at the very moment when the other one began."""
    return s.send(ONE, 1, at=(0, 10)).send(TWO, 0, at=(10, 20)).final({0: TWO, 1: ONE}, end=2)


def two_partitions(s: Any) -> Any:
    s.send(ONE, 1, at=(0, 10)).send(TWO, 0, partition=1)
    return s.final({1: ONE}, end=2).final({0: TWO}, end=1, partition=1)


def own_write_missed(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(10, 20))
    return s.final({0: ONE}, end=1)


def own_write_found_too_late(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ, start_offset=0, end_offset=0, at=(10, 20))
    s.poll(ONE, 0, process=21, session=7, at=(21, 25))
    s.operation(**READ | {"process": 21}, start_offset=0, end_offset=1, at=(20, 30))
    return s.final({0: ONE}, end=1)


def own_write_found(s: Any) -> Any:
    s.send(ONE, 0, session=7, at=(1, 10))
    s.poll(ONE, 0, process=20, session=7, at=(12, 20))
    s.operation(**READ, start_offset=0, end_offset=1, at=(11, 20))
    return s.final({0: ONE}, end=1)


def own_write_not_yet_due(s: Any) -> Any:
    """The reads began before the acknowledgement, did not complete, or were another session's."""
    s.operation(**READ, start_offset=0, end_offset=0, at=(9, 20))
    s.send(ONE, 0, session=7, at=(1, 10))
    s.operation(**READ | {"type": "info"}, start_offset=0, end_offset=0, at=(30, 40))
    s.operation(**READ | {"session": 8}, start_offset=0, end_offset=0, at=(30, 40))
    s.operation(**READ | {"session": None, "process": 1}, start_offset=0, end_offset=0, at=(30, 40))
    return s.final({0: ONE}, end=1)


def own_write_missed_without_session(s: Any) -> Any:
    """A process without a session is its own."""
    s.send(ONE, 0)
    s.operation(**READ | {"session": None, "process": 1}, start_offset=0, end_offset=0)
    return s.final({0: ONE}, end=1)


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
    """By another client of the session."""
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


def wrote_behind_what_others_read(s: Any) -> Any:
    s.send(ONE, None, type="info", at=(1, 40)).poll(ONE, 1, process=20, session=8, at=(11, 15))
    s.send(TWO, 0, session=7, at=(16, 20)).send(TWO + 1, 0, partition=1)
    return s.final({0: TWO, 1: ONE}, end=2).final({0: TWO + 1}, end=1, partition=1)


def phantom(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE, 1: TWO}, end=2)


def aborted(s: Any) -> Any:
    return s.send(ONE, None, type="fail").send(ONE + 1, 1).final({0: ONE, 1: ONE + 1}, end=2)


def aborted_transaction(s: Any) -> Any:
    s.send(ONE, 0, type="fail", transaction=7).send(ONE + 1, 1)
    return s.final({0: ONE, 1: ONE + 1}, end=2, committed=True)


def aborted_transaction_without_isolation(s: Any) -> Any:
    s.send(ONE, 0, type="fail", transaction=7).send(ONE + 1, 1)
    return s.final({0: ONE, 1: ONE + 1}, end=2, committed=False)


def aborted_by_an_info_poll(s: Any) -> Any:
    s.send(ONE, None, type="fail").send(ONE + 1, 1).poll(ONE, 0, type="info")
    return s.final({1: ONE + 1}, end=2)


def unseen_but_by_an_info_poll(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0, type="info")


def skipped_a_hole_inside_a_poll(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 5).poll(ONE, 0, op=5).poll(ONE + 1, 5, op=5)
    return s.final({0: ONE, 5: ONE + 1}, end=6)


def damaged(s: Any) -> Any:
    return s.send(ONE, 0).poll(None, 1, error="corrupt").final({0: ONE}, end=2)


def strangers(s: Any) -> Any:
    s.send(ONE, 0).poll(None, 1, error="foreign").poll(None, 2, error="corrupt").poll(
        TWO, 3, error="misrouted"
    )
    return s.final({0: ONE}, end=4)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    clean: {},
    lost_in_the_middle: {"lost-write": 1},
    lost_although_read_before: {"lost-write": 1},
    lost_and_replaced: {"lost-write": 1, "inconsistent-offsets": 1},
    lost_although_an_earlier_final_read_had_it: {"lost-write": 1},
    lost_although_another_final_read_had_it: {"lost-write": 1},
    lost_although_the_same_client_had_it_before: {"lost-write": 1},
    lost_although_the_final_client_polled_it_otherwise: {"lost-write": 2},
    lost_with_a_late_acknowledgement: {"lost-write": 1},
    lost_at_the_log_start: {"lost-write": 1},
    lost_at_no_known_offset: {"lost-write": 1},
    lost_to_a_reader_without_final_read: {"lost-write": 1},
    lost_at_the_top_without_final_read: {"lost-write": 1, "inconsistent-offsets": 1},
    unseen: {"unseen": 1},
    unseen_without_any_read: {"unseen": 2},
    unseen_behind_the_final_read: {"unseen": 1},
    read_behind_the_final_read: {},
    expired: {"expired": 1},
    duplicate: {"duplicate": 1},
    duplicate_by_acknowledgement: {"duplicate": 1},
    duplicate_by_an_info_poll: {"duplicate": 1},
    not_a_duplicate_in_two_partitions: {},
    inconsistent: {"inconsistent-offsets": 1},
    inconsistent_in_one_epoch: {"inconsistent-offsets": 1},
    inconsistent_with_the_first_epoch: {"inconsistent-offsets": 1, "lost-write": 1},
    inconsistent_in_turns: {"inconsistent-offsets": 1},
    inconsistent_backwards: {"inconsistent-offsets": 1},
    inconsistent_after_a_reuse: {"inconsistent-offsets": 1},
    reused: {"offset-reuse": 1},
    reused_after_an_acknowledgement: {"offset-reuse": 1, "lost-write": 1},
    reused_twice: {"offset-reuse": 1},
    a_later_epoch_read_the_same: {},
    went_back: {"nonmonotonic-poll": 1},
    stood_still: {"nonmonotonic-poll": 1},
    went_back_after_a_seek: {},
    went_back_inside_a_poll: {"int-nonmonotonic-poll": 1},
    stood_still_inside_a_poll: {"int-nonmonotonic-poll": 1},
    keyed_records_went_back: {"nonmonotonic-poll": 2},
    keyed_records_went_back_inside_a_poll: {"nonmonotonic-poll": 1, "int-nonmonotonic-poll": 1},
    keyed_records_of_several_clients: {},
    keyed_sends_went_back: {"nonmonotonic-send": 2},
    keyed_sends_went_back_inside_a_transaction: {"nonmonotonic-send": 1, "int-nonmonotonic-send": 1},
    kept_partition_went_back: {"nonmonotonic-poll": 1},
    kept_partition_was_skipped: {"poll-skip": 1},
    kept_partition_goes_on: {},
    partition_was_assigned_anew: {},
    skipped: {"poll-skip": 1},
    skipped_inside_a_poll: {"int-poll-skip": 1},
    skipped_over_blocks: {"poll-skip": 2},
    skipped_a_hole: {},
    skipped_what_was_aborted: {},
    skipped_what_was_committed: {"poll-skip": 1},
    sent_out_of_order: {"nonmonotonic-send": 1},
    sent_to_the_same_offset: {"nonmonotonic-send": 1, "inconsistent-offsets": 1, "lost-write": 1},
    sent_out_of_order_in_a_transaction: {"int-nonmonotonic-send": 1},
    sent_to_the_same_offset_in_a_transaction: {
        "int-nonmonotonic-send": 1,
        "inconsistent-offsets": 1,
        "lost-write": 1,
    },
    sent_out_of_order_over_transactions: {"nonmonotonic-send": 1},
    transactions_interleave: {"int-send-skip": 1},
    transactions_interleave_unread: {"int-send-skip": 1, "unseen": 3},
    a_marker_lies_between_transactions: {},
    others_write_between_transactions: {},
    overtaken: {"realtime-order": 1},
    concurrent: {},
    two_partitions: {},
    own_write_missed: {"read-your-writes": 1},
    own_write_found_too_late: {"read-your-writes": 1},
    own_write_found: {},
    own_write_not_yet_due: {},
    own_write_missed_without_session: {"read-your-writes": 1},
    session_went_back: {"monotonic-reads": 1},
    session_went_back_behind_a_poll: {"monotonic-reads": 1},
    session_stood_still: {},
    wrote_behind_its_own_write: {"monotonic-writes": 1, "realtime-order": 1},
    wrote_to_its_own_offset: {"monotonic-writes": 1, "inconsistent-offsets": 1, "lost-write": 1},
    wrote_at_once: {},
    sessions_overtake_one_another: {"realtime-order": 1},
    wrote_behind_its_read: {"writes-follow-reads": 1, "realtime-order": 1},
    wrote_where_it_had_read: {"writes-follow-reads": 1, "inconsistent-offsets": 1},
    wrote_while_it_read: {},
    wrote_behind_what_others_read: {},
    phantom: {"phantom-read": 1},
    aborted: {"G1a": 1},
    aborted_transaction: {"G1a": 1},
    aborted_transaction_without_isolation: {},
    aborted_by_an_info_poll: {"G1a": 1},
    unseen_but_by_an_info_poll: {},
    skipped_a_hole_inside_a_poll: {},
    damaged: {"corrupt-record": 1},
    strangers: {"foreign-record": 2, "corrupt-record": 1},
    **transaction_stories.TOLD,
    **group_stories.TOLD,
}

BOUNDS = Bounds(unavailable=1, recovery=1, orphaned=1)
"""Stories that are not about availability last some hundred ns."""

ALL = (*CHECKS, *bound_checks(BOUNDS))
