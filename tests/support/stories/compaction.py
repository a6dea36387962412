"""Histories of compacted topics: a record may go once a later one has the same key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories import groups, positions, transactions
from tests.support.stories.removals import created

ONE, TWO = 1 << 40, 2 << 40  # the values of processes 1 and 2 start here
COMPACT = {"cleanup_policy": "compact"}


def keyed(s: Any) -> Any:
    """Two records of key 4, and one of key 5 between them."""
    return s.send(ONE, 0, key=4).send(ONE + 1, 1, key=5).send(ONE + 2, 2, key=4)


def replaced(s: Any) -> Any:
    """Of the first record of the key, the final read finds nothing. One reader got it before."""
    keyed(created(s, **COMPACT)).poll(ONE, 0, key=4)
    return s.poll(ONE + 1, 1, key=5).poll(ONE + 2, 2, key=4).final({1: ONE + 1, 2: ONE + 2}, end=3)


def replaced_unread(s: Any) -> Any:
    return keyed(created(s, **COMPACT)).final({1: ONE + 1, 2: ONE + 2}, end=3)


def replaced_by_a_tombstone(s: Any) -> Any:
    """A reader got it; it is gone, too, at the end."""
    s = created(s, **COMPACT).send(ONE, 0, key=4).send(ONE + 1, 1, key=5).poll(ONE, 0, key=4)
    return s.poll(None, 2, key=4, process=11, error="foreign").final({1: ONE + 1}, end=3)


def replaced_before_another_reader_came(s: Any) -> Any:
    """Offset 1 was replaced by offset 3. The second reader does not find it, nor does the writer's own session."""
    created(s, **COMPACT).send(ONE, 0, key=4, session=7).send(ONE + 1, 1, key=5, session=7)
    s.send(ONE + 2, 2, key=4, session=7).send(ONE + 3, 3, key=5, session=7)
    s.poll(ONE, 0, key=4).poll(ONE + 1, 1, key=5).poll(ONE + 2, 2, key=4)
    s.poll(ONE + 2, 2, key=4, session=7, process=11).poll(ONE + 3, 3, key=5, session=7, process=11)
    s.operation("read", process=11, session=7, start_offset=0, end_offset=4)
    s.poll(ONE, 0, key=4, process=12).poll(ONE + 2, 2, key=4, process=12)
    return s.final({2: ONE + 2, 3: ONE + 3}, end=4)


def newest_of_its_key_lost(s: Any) -> Any:
    keyed(created(s, **COMPACT)).poll(ONE + 1, 1, key=5)
    return s.final({2: ONE + 2}, end=3)


def without_a_key_lost(s: Any) -> Any:
    return created(s, **COMPACT).send(ONE, 0).send(ONE + 1, 1).final({1: ONE + 1}, end=2)


def replaced_although_nothing_may_go(s: Any) -> Any:
    return keyed(created(s)).final({1: ONE + 1, 2: ONE + 2}, end=3)


def of_another_log(s: Any) -> Any:
    """The same key in another partition replaces nothing."""
    s = created(s, **COMPACT).send(ONE, 0, key=4).send(TWO, 5, key=4, partition=1)
    return s.final({}, end=1).final({5: TWO}, end=6, partition=1)


def replaced_by_what_nobody_read(s: Any) -> Any:
    """The acknowledgement of the later record shows that it replaced the first one. The later one is lost."""
    return keyed(created(s, **COMPACT)).final({1: ONE + 1}, end=3)


def aborted_record_replaces_nothing(s: Any) -> Any:
    created(s, **COMPACT).send(ONE, 0, key=4).send(ONE + 1, 1, key=4, type="fail", transaction=8)
    return s.final({}, end=2)


def replaced_beside_a_topic_with_compaction(s: Any) -> Any:
    """Its own records stay until they are old."""
    created(created(s, topic="u", **COMPACT))
    s.send(TWO, 0, key=4, topic="u").send(TWO + 1, 1, key=4, topic="u")
    return keyed(s).final({1: ONE + 1, 2: ONE + 2}, end=3).final({1: TWO + 1}, end=2, topic="u")


def torn_beside_a_topic_with_compaction(s: Any) -> Any:
    created(created(s, at=(0, 0)), topic="u", at=(0, 0), **COMPACT)
    return transactions.torn_by_an_earlier_assignment(s)


def torn_by_compaction(s: Any) -> Any:
    """A later record replaced one of the transaction before the second reader came."""
    return transactions.torn_by_an_earlier_assignment(created(s, at=(0, 0), **COMPACT))


def group_began_behind_what_was_replaced(s: Any) -> Any:
    """Another reader got the records afterwards: its broker had not compacted the log yet."""
    return groups.group_skipped_records_of_an_idle_owner(created(s, at=(0, 0), **COMPACT))


def group_committed_beyond_what_was_replaced(s: Any) -> Any:
    return positions.committed_records_that_it_got_later(created(s, at=(0, 0), **COMPACT))


def overwritten_by_what_an_aborted_transaction_wrote(s: Any) -> Any:
    """The final read, without isolation, found that record. The cleaner leaves it out."""
    created(s, **COMPACT).send(ONE, 0, key=4).send(ONE + 1, None, key=4, type="fail", transaction=8)
    return s.final({1: ONE + 1}, end=2)


def overwritten_by_what_may_have_been_aborted(s: Any) -> Any:
    created(s, **COMPACT).send(ONE, 0, key=4).send(ONE + 1, None, key=4, type="info", transaction=8)
    return s.final({1: ONE + 1}, end=2)


def overwritten_by_a_failed_send_that_is_there(s: Any) -> Any:
    """It was in no transaction: the record is in the log, whatever its client believes."""
    created(s, **COMPACT).send(ONE, 0, key=4).send(ONE + 1, None, key=4, type="fail")
    return s.final({1: ONE + 1}, end=2)


def aborted_record_of_a_key_gone(s: Any) -> Any:
    """A reader without isolation got it before the cleaner removed it."""
    created(s, **COMPACT).send(ONE, 0, key=4).send(ONE + 1, None, key=4, type="fail", transaction=8)
    return s.poll(ONE, 0, key=4).poll(ONE + 1, 1, key=4).final({0: ONE}, end=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    replaced: {},
    replaced_unread: {},
    replaced_by_a_tombstone: {"foreign-record": 1},
    replaced_before_another_reader_came: {},
    newest_of_its_key_lost: {"lost-write": 1},
    without_a_key_lost: {"lost-write": 1},
    replaced_although_nothing_may_go: {"lost-write": 1},
    of_another_log: {"lost-write": 1},
    replaced_by_what_nobody_read: {"lost-write": 1},
    aborted_record_replaces_nothing: {"lost-write": 1},
    overwritten_by_what_an_aborted_transaction_wrote: {"lost-write": 1},
    overwritten_by_what_may_have_been_aborted: {},
    overwritten_by_a_failed_send_that_is_there: {"G1a": 1},
    aborted_record_of_a_key_gone: {},
    replaced_beside_a_topic_with_compaction: {"lost-write": 1},
    torn_beside_a_topic_with_compaction: {"torn-transaction": 1, "poll-skip": 1},
    torn_by_compaction: {},
    group_began_behind_what_was_replaced: {},
    group_committed_beyond_what_was_replaced: {},
}
