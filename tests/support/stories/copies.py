"""Histories of members that copy records to another topic: lost and repeated copies, and near misses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.support.stories.groups import EARLIEST, ONE, READ, commit, log, member, polled

FIVE, SIX, SEVEN = 5 << 40, 6 << 40, 7 << 40  # values of the members 5, 6 and 7
A, B = 101, 102  # transactions


def copied(
    s: Any, value: int, of: int, offset: int | None, *, kind: str = "ok", transaction: int | None = None,
    topic: str = "o", at: tuple[int, int | None] = (30, 40),
) -> Any:  # fmt: skip
    """A send of a copy of the record at the offset `of`."""
    more = {"topic": topic, "type": kind, "transaction": transaction, "source": ONE + of}
    return s.send(value, offset, at=at, **more)


def output(
    s: Any, copies: Mapping[int, tuple[int, int]], *, end: int | None = None, start: int = 0, process: int = 98,
    final: bool = True, topic: str = "o", **more: Any,
) -> Any:  # fmt: skip
    """A read of the output to its end, after everything else: offset -> value and offset of its source."""
    now, s.now = s.now, 9_500
    for offset, (value, of) in copies.items():
        s.poll(value, offset, process=process, final=final, topic=topic, source=ONE + of, **more)
    until = max(copies, default=-1) + 1 if end is None else end
    name = "final-read" if final else "read"
    s.operation(name, process=process, at=(9_500, s.now), topic=topic, start_offset=start, end_offset=until)
    s.now = now
    return s


def output_with_others(s: Any, *values: int) -> Any:
    """The copies of `once` and, behind them, records without a source."""
    for offset, value in enumerate(values, len(WHOLE)):
        s.send(value, offset, topic="o", at=(41, 44))
    output(s, WHOLE, end=len(WHOLE) + len(values))
    now, s.now = s.now, 9_600
    for offset, value in enumerate(values, len(WHOLE)):
        s.poll(value, offset, process=98, final=True, topic="o")
    s.now = now
    return s


def group_of_copiers(
    s: Any, *, size: int = 3, start: int = 0, to: int = 3, kind: str = "ok", **more: Any
) -> Any:
    """Copier 5 polls records 0, 1, ... and commits."""
    log(s, size)
    member(s, 5, "assigned", (10, 11), start=start, **EARLIEST | more)
    polled(s, 5, range(start, size), (20, 25))
    return commit(s, 5, to, (45, 50), kind=kind)


def all_but_the_second(s: Any) -> Any:
    copied(s, FIVE, 0, 0)
    return copied(s, FIVE + 2, 2, 1)


FOUND = {0: (FIVE, 0), 1: (FIVE + 2, 2)}
"""In the output, by `all_but_the_second`."""


WHOLE = FOUND | {2: (FIVE + 1, 1)}


def once(s: Any) -> Any:
    all_but_the_second(group_of_copiers(s))
    return copied(s, FIVE + 1, 1, 2)


def each_copied_once(s: Any) -> Any:
    return output(once(s), WHOLE)


def one_not_copied(s: Any) -> Any:
    return output(all_but_the_second(group_of_copiers(s)), FOUND)


def first_and_last_not_copied(s: Any) -> Any:
    """The first one lies where the group began, the last one next below its position."""
    return output(copied(group_of_copiers(s), FIVE + 1, 1, 0), {0: (FIVE + 1, 1)})


def none_committed(s: Any) -> Any:
    """The position is that of the record without a copy, the next one was refused, and of one nothing is known."""
    copied(group_of_copiers(s, to=1), FIVE, 0, 0)
    commit(s, 5, 3, (51, 52), kind="fail")
    commit(s, 5, 3, (53, 54), kind="info")
    return output(s, {0: (FIVE, 0)})


def commit_without_completion(s: Any) -> Any:
    copied(group_of_copiers(s, to=1), FIVE, 0, 0)
    commit(s, 5, 3, (51, None))
    return output(s, {0: (FIVE, 0)})


def copy_that_failed(s: Any) -> Any:
    """Its transaction was aborted. Readers of all records get it."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="fail", transaction=A)
    return output(s, WHOLE)


def copy_of_unknown_outcome_that_is_nowhere(s: Any) -> Any:
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="info", transaction=A)
    return output(s, FOUND)


def copy_of_unknown_outcome_in_an_unread_output(s: Any) -> Any:
    """Nothing shows whether it is there."""
    return copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="info")


def copy_that_may_have_been_removed(s: Any) -> Any:
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="info", at=(41, 43))
    s.poll(FIVE, 0, topic="o", source=ONE, process=97)
    return output(s, {1: (FIVE + 2, 2)}, start=1)


def copy_that_may_have_been_compacted(s: Any) -> Any:
    settings = {"event": "created", "partitions": 1, "config": {"cleanup.policy": "compact"}}
    s.harness("topic", settings, topic="o", at=(1, 2)).phases()
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="info")
    return output(s, FOUND)


def copy_of_unknown_outcome_that_was_read(s: Any) -> Any:
    """Outside of transactions, everything in the log counts."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="info")
    return output(s, WHOLE)


def copy_of_which_the_outcome_was_seen(s: Any) -> Any:
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="info", transaction=A)
    s.poll(FIVE + 1, 2, process=97, topic="o", source=ONE + 1, **READ)
    return output(s, WHOLE)


def copy_in_an_undecided_transaction(s: Any) -> Any:
    """Readers of committed records have not passed it."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="info", transaction=A)
    output(s, FOUND, process=97, final=False, **READ)
    return output(s, WHOLE)


def copy_in_an_aborted_transaction(s: Any) -> Any:
    """Of which the client does not know the outcome. A reader of committed records passed it."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="info", transaction=A)
    output(s, FOUND, process=97, final=False, end=3, **READ)
    return output(s, WHOLE)


def copy_passed_by_one_of_two_careful_readers(s: Any) -> Any:
    """The other one stopped before it."""
    copy_in_an_aborted_transaction(s)
    return output(s, {0: FOUND[0]}, process=96, final=False, end=1, **READ)


def plain_copy_passed_by_a_careful_reader(s: Any) -> Any:
    """Nobody aborts it: that the reader left it out is another anomaly."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="info")
    output(s, FOUND, process=97, final=False, end=3, **READ)
    return output(s, WHOLE)


def copy_that_failed_and_one_of_unknown_outcome(s: Any) -> Any:
    """Of one record. No final read shows whether the second one is there."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="fail")
    copied(s, FIVE + 3, 1, None, kind="info")
    return output(s, FOUND, final=False)


def copy_that_failed_and_one_of_unknown_outcome_in_another_topic(s: Any) -> Any:
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, None, kind="fail")
    copied(s, FIVE + 3, 1, None, kind="info", topic="p")
    return output(s, FOUND)


def copier_that_sends_other_records(s: Any) -> Any:
    """They are no copies of anything."""
    once(s)
    return output_with_others(s, FIVE + 3, FIVE + 4)


def copy_at_two_offsets_in_an_undecided_transaction(s: Any) -> Any:
    """Readers of committed records have passed the first offset only."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="info", transaction=A)
    output(s, FOUND, process=97, final=False, end=3, **READ)
    return output(s, WHOLE | {4: (FIVE + 1, 1)})


def copy_in_a_transaction_that_no_poll_returned(s: Any) -> Any:
    """Only its producer says where it lies."""
    copied(all_but_the_second(group_of_copiers(s)), FIVE + 1, 1, 2, kind="info", transaction=A)
    return output(s, FOUND, process=97, final=False, end=3, **READ)


def foreign_record_in_the_source(s: Any) -> Any:
    """It need not be copied. Two readers got it."""
    each_copied_once(s)
    s.poll(None, 3, process=5, at=(26, 27), generation=1, error="foreign")
    commit(s, 5, 4, (51, 52))
    now, s.now = s.now, 9_100
    s.poll(None, 3, process=99, final=True, error="foreign", **READ)
    s.now = now
    for row in s.operations:
        row |= {"end_offset": 4} if row["f"] == "final-read" and row["topic"] == "t" else {}
    return s


def copy_found_in_another_partition_as_well(s: Any) -> Any:
    s.poll(FIVE + 1, 0, process=97, topic="o", partition=1, error="misrouted", source=ONE + 1, **READ)
    s.now = 0
    return each_copied_once(s)


def copy_without_a_send(s: Any) -> Any:
    """The history does not have it. A reader of all records found it."""
    return output(all_but_the_second(group_of_copiers(s)), WHOLE)


def began_behind_some(s: Any) -> Any:
    """With auto.offset.reset=latest."""
    return output(copied(group_of_copiers(s, start=2, policy="latest"), FIVE, 2, 0), {0: (FIVE, 2)})


def began_anywhere(s: Any) -> Any:
    """Where it began is not recorded."""
    log(s, 2)
    polled(s, 5, range(2), (20, 25))
    copied(commit(s, 5, 2, (45, 50)), FIVE, 1, 0)
    return output(s, {0: (FIVE, 1)})


def left_out_on_purpose(s: Any) -> Any:
    log(s, 3)
    member(s, 5, "assigned", (10, 11), start=0, **EARLIEST)
    commit(s, 5, 2, (12, 13), reset=True)
    polled(s, 5, range(2, 3), (20, 25), assignment=2)
    copied(commit(s, 5, 3, (45, 50)), FIVE, 2, 0)
    return output(s, {0: (FIVE, 2)})


def lost_before_it_was_copied(s: Any) -> Any:
    """The final read does not find the record."""
    group_of_copiers(s, size=3)
    s.records = [row for row in s.records if not (row.get("final") and row["value"] == ONE + 2)]
    copied(copied(s, FIVE, 0, 0), FIVE + 1, 1, 1)
    return output(s, {0: (FIVE, 0), 1: (FIVE + 1, 1)})


def source_in_an_aborted_transaction(s: Any, *, kind: str = "fail") -> Any:
    """Only readers of all records get it."""
    log(s, 2)
    member(s, 5, "assigned", (10, 11), start=0, **EARLIEST)
    polled(s, 5, range(2 if kind == "fail" else 3), (20, 25), **READ)
    commit(s, 5, 3, (45, 50))
    s.send(ONE + 2, 2, at=(3, 4), transaction=B, type=kind)
    now, s.now = s.now, 9_000
    s.poll(ONE + 2, 2, process=99, final=True)
    s.now = now
    for row in s.operations:
        row |= {"end_offset": 3} if row["f"] == "final-read" else {}
    copied(s, FIVE, 0, 0)
    return output(copied(s, FIVE + 1, 1, 1), {0: (FIVE, 0), 1: (FIVE + 1, 1)})


def source_in_a_committed_transaction(s: Any) -> Any:
    """Its producer does not know the outcome, but a reader of committed records got it."""
    return source_in_an_aborted_transaction(s, kind="info")


def acknowledged_source_in_a_transaction(s: Any) -> Any:
    """Members that read all records copy it, too."""
    source_in_an_aborted_transaction(s, kind="ok")
    for row in s.records:
        row.pop("committed", None)
    return s


def another_group_that_does_not_copy(s: Any) -> Any:
    each_copied_once(s)
    member(s, 7, "assigned", (10, 11), start=0, group="h")
    polled(s, 7, range(3), (20, 25))
    return commit(s, 7, 3, (45, 50), group="h")


def another_group_that_sends_other_records(s: Any) -> Any:
    once(s)
    member(s, 7, "assigned", (10, 11), start=0, group="h")
    polled(s, 7, range(3), (20, 25))
    commit(s, 7, 3, (45, 50), group="h")
    return output_with_others(s, SEVEN)


def another_group_that_reads_the_copies(s: Any) -> Any:
    """It does not copy them."""
    each_copied_once(s)
    member(s, 7, "assigned", (60, 61), start=0, group="h")
    s.operations[-1]["topic"] = "o"
    for offset, (value, of) in WHOLE.items():
        s.poll(value, offset, process=7, topic="o", source=ONE + of, at=(62, 65), generation=1)
    commit(s, 7, 3, (66, 67), group="h")
    s.operations[-1]["topic"] = "o"
    return s


def copied_by_the_wrong_group(s: Any) -> Any:
    """Group h copies one record only."""
    once(s)
    member(s, 6, "assigned", (10, 11), start=0, group="h")
    polled(s, 6, range(2), (20, 25))
    copied(s, SIX, 0, 3)
    commit(s, 6, 2, (45, 50), group="h")
    return output(s, WHOLE | {3: (SIX, 0)})


def twice(
    s: Any, *, kind: str = "ok", offset: int | None = 3, transaction: int | None = None, **more: Any
) -> Any:
    """Copier 6 copies the record that copier 5 had copied."""
    once(s)
    member(s, 6, "assigned", (60, 61), generation=2, start=3)
    return copied(s, SIX, 1, offset, kind=kind, transaction=transaction, at=(62, 64), **more)


AGAIN = WHOLE | {3: (SIX, 1)}


def copied_twice(s: Any) -> Any:
    return output(twice(s), AGAIN)


def copied_twice_by_one_member(s: Any) -> Any:
    once(s)
    copied(s, FIVE + 3, 1, 3)
    copied(s, FIVE + 4, 2, 4)
    copied(s, FIVE + 5, 2, 5)
    return output(s, WHOLE | {3: (FIVE + 3, 1), 4: (FIVE + 4, 2), 5: (FIVE + 5, 2)})


def copied_twice_and_polled_by_a_reader_that_waited(s: Any) -> Any:
    """Its poll began before the second copy was sent."""
    s.poll(SIX, 3, process=97, topic="o", source=ONE + 1, at=(55, 70))
    s.now = 0
    return copied_twice(s)


def copied_twice_without_a_send(s: Any) -> Any:
    """The history does not have the send of the second copy. Two readers got it."""
    once(s)
    s.poll(FIVE + 3, 3, process=97, topic="o", source=ONE + 1, **READ)
    return output(s, WHOLE | {3: (FIVE + 3, 1)})


def perhaps_copied_twice_without_a_send(s: Any) -> Any:
    """Only readers of all records found the second copy, perhaps in an aborted transaction."""
    return output(once(s), WHOLE | {3: (FIVE + 3, 1)})


def copied_twice_from_a_record_that_was_acknowledged_elsewhere(s: Any) -> Any:
    """All polls returned it at one offset."""
    output(copied(once(s), FIVE + 3, 2, 3), WHOLE | {3: (FIVE + 3, 2)})
    for row in s.records:
        row |= {"offset": 9} if row["f"] == "send" and row["value"] == ONE + 2 else {}
    return s


def copied_twice_and_both_lost(s: Any) -> Any:
    """Readers were promised both."""
    return output(twice(s), FOUND, end=4)


def copied_again_in_vain(s: Any) -> Any:
    return output(twice(s, kind="fail", transaction=B), WHOLE)


def perhaps_copied_twice(s: Any) -> Any:
    """Only readers of all records found the second copy."""
    return output(twice(s, kind="info", transaction=B), AGAIN)


def copied_twice_as_a_reader_saw(s: Any) -> Any:
    twice(s, kind="info", transaction=B)
    s.poll(SIX, 3, process=97, topic="o", source=ONE + 1, **READ)
    return output(s, AGAIN)


def copied_to_two_topics(s: Any) -> Any:
    output(twice(s, topic="p", offset=0), WHOLE)
    return output(s, {0: (SIX, 1)}, process=99, topic="p")


def copied_again_after_a_reset(s: Any) -> Any:
    once(s)
    commit(s, 5, 1, (55, 56), reset=True)
    copied(s, FIVE + 3, 1, 3, at=(60, 61))
    return output(s, WHOLE | {3: (FIVE + 3, 1)})


def copied_again_because_it_was_there_twice(s: Any) -> Any:
    once(s)
    s.poll(ONE + 1, 7, process=96)
    copied(s, FIVE + 3, 1, 3)
    return output(s, WHOLE | {3: (FIVE + 3, 1)})


def copied_twice_from_an_unread_source(s: Any) -> Any:
    """No poll returned the record, and it is not known which one it is."""
    once(s)
    copied(s, FIVE + 3, 9, 3)
    copied(s, FIVE + 4, 9, 4)
    return output(s, WHOLE | {3: (FIVE + 3, 9), 4: (FIVE + 4, 9)})


def not_copied_before_two_commits(s: Any) -> Any:
    """The first one says when the group had passed the record."""
    all_but_the_second(group_of_copiers(s))
    return output(commit(s, 5, 3, (61, 62)), FOUND)


def not_copied_before_another_assignment(s: Any) -> Any:
    """It begins behind the record, and the first one did not."""
    all_but_the_second(group_of_copiers(s))
    member(s, 5, "assigned", (61, 62), start=3, generation=2, **EARLIEST)
    return output(s, FOUND)


def lost_although_another_final_read_found_it(s: Any) -> Any:
    """That one was not completed."""
    lost_before_it_was_copied(s)
    now, s.now = s.now, 9_400
    s.poll(ONE + 2, 2, process=96, final=True)
    s.now = now
    return s


def copied_twice_from_a_log_without_a_final_read(s: Any) -> Any:
    """Where the record lies is known from the member that polled it."""
    copied_twice(s)
    s.records = [row for row in s.records if not (row.get("final") and row["topic"] == "t")]
    s.operations = [row for row in s.operations if not (row["f"] == "final-read" and row["topic"] == "t")]
    return s


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    each_copied_once: {},
    one_not_copied: {"lost-copy": 1},
    first_and_last_not_copied: {"lost-copy": 2},
    not_copied_before_two_commits: {"lost-copy": 1},
    not_copied_before_another_assignment: {"lost-copy": 1},
    lost_although_another_final_read_found_it: {"lost-write": 1},
    copied_twice_from_a_log_without_a_final_read: {"duplicate-copy": 1},
    none_committed: {},
    commit_without_completion: {},
    copy_that_failed: {"lost-copy": 1},
    copy_of_unknown_outcome_that_is_nowhere: {"lost-copy": 1},
    copy_of_unknown_outcome_in_an_unread_output: {"unseen": 2},
    copy_that_may_have_been_removed: {},
    copy_that_may_have_been_compacted: {},
    copy_of_unknown_outcome_that_was_read: {},
    copy_of_which_the_outcome_was_seen: {},
    copy_in_an_undecided_transaction: {},
    copy_in_an_aborted_transaction: {"lost-copy": 1},
    copy_passed_by_one_of_two_careful_readers: {"lost-copy": 1},
    plain_copy_passed_by_a_careful_reader: {},
    copy_that_failed_and_one_of_unknown_outcome: {},
    copy_that_failed_and_one_of_unknown_outcome_in_another_topic: {},
    copier_that_sends_other_records: {},
    copy_at_two_offsets_in_an_undecided_transaction: {"duplicate": 1},
    copy_in_a_transaction_that_no_poll_returned: {},
    foreign_record_in_the_source: {"foreign-record": 2},
    copy_found_in_another_partition_as_well: {"foreign-record": 1},
    copy_without_a_send: {"phantom-read": 1},
    began_behind_some: {},
    began_anywhere: {},
    left_out_on_purpose: {},
    lost_before_it_was_copied: {"lost-write": 1},
    source_in_an_aborted_transaction: {},
    source_in_a_committed_transaction: {"lost-copy": 1},
    acknowledged_source_in_a_transaction: {"lost-copy": 1},
    another_group_that_does_not_copy: {},
    another_group_that_sends_other_records: {},
    another_group_that_reads_the_copies: {},
    copied_by_the_wrong_group: {"lost-copy": 1},
    copied_twice: {"duplicate-copy": 1},
    copied_twice_by_one_member: {"duplicate-copy": 2},
    copied_twice_and_polled_by_a_reader_that_waited: {"duplicate-copy": 1},
    copied_twice_without_a_send: {"duplicate-copy": 1, "phantom-read": 1},
    perhaps_copied_twice_without_a_send: {"phantom-read": 1},
    copied_twice_from_a_record_that_was_acknowledged_elsewhere: {"duplicate": 1, "duplicate-copy": 1},
    copied_twice_and_both_lost: {"lost-write": 2, "duplicate-copy": 1},
    copied_again_in_vain: {},
    perhaps_copied_twice: {},
    copied_twice_as_a_reader_saw: {"duplicate-copy": 1},
    copied_to_two_topics: {},
    copied_again_after_a_reset: {},
    copied_again_because_it_was_there_twice: {"duplicate": 1},
    copied_twice_from_an_unread_source: {"duplicate-copy": 1},
}
