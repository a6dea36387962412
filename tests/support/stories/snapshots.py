"""Histories of transfers between accounts and of snapshots of all accounts: wrong totals, and near misses.

Accounts are the partitions of the topics t and u. Unless a story says otherwise, a transfer is a debit in t-0 and a
credit in u-0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ONE = 1 << 40
READER = 20
T, U = ("t", 0), ("u", 0)

Log = tuple[str, int]
Placed = tuple[int | None, int | None]
"""Offsets of a debit and of its credit."""


def transfer(
    s: Any, number: int, offsets: Placed, *, kind: str = "ok", transaction: int | None = -1,
) -> Any:  # fmt: skip
    """Two sends of a transaction, which has the row that a transactor writes: values 2n (debit) and 2n + 1."""
    of = (1 << 40) + 1000 + number if transaction == -1 else transaction
    began = s.now
    for (topic, _), offset, value, part in zip(
        (T, U), offsets, (ONE + 2 * number, ONE + 2 * number + 1), (-10, 10), strict=True
    ):
        s.send(value, offset, topic=topic, amount=part, type=kind, transaction=of)
    if of is not None and transaction == -1:
        _commit(s, of, began=began, kind=kind)
    return s


def _commit(s: Any, transaction: int | None, *, began: int, kind: str = "ok") -> None:
    value = {"transactional_id": "x", "epoch": 1, "outcome": "commit", "ending": s.now}
    s.operation(
        "txn", at=(began, s.now + 1), op=transaction, process=1, type=kind, value=json.dumps(value), topic=None,
        partition=None,
    )  # fmt: skip


def snapshot(
    s: Any, number: int, ends: Mapping[Log, int], *got: tuple[Log, int, int], process: int = READER,
    kind: str = "ok", assignment: int = 1,
) -> Any:  # fmt: skip
    """A snapshot of these logs up to these ends, which polls records: log, offset, value. Even values are debits."""
    began = s.now + 1
    for (topic, _), offset, value in got:
        s.poll(
            value, offset, topic=topic, amount=10 if value % 2 else -10, process=process, committed=True,
            assignment=assignment,
        )  # fmt: skip
    at = (began, s.now + 1)
    for (topic, _), end in ends.items():
        s.operation(
            "read", process=process, at=at, topic=topic, start_offset=0, end_offset=end, type=kind,
            value=json.dumps({"committed": True, "snapshot": number}),
        )  # fmt: skip
    return s


def read_finally(s: Any, found: Mapping[Log, Sequence[int]], *, end: int = 0) -> Any:
    """Final reads of both topics, to `end` at least: values at offsets from 0 on."""
    now, s.now = s.now, 9_000
    for log, process in ((T, 98), (U, 99)):
        values = found.get(log, ())
        for offset, value in enumerate(values):
            s.poll(value, offset, topic=log[0], process=process, final=True, amount=10 if value % 2 else -10)
        s.operation(
            "final-read", process=process, topic=log[0], at=(9_000, s.now), start_offset=0,
            end_offset=max(len(values), end),
        )  # fmt: skip
    s.now = now
    return s


WHOLE = {T: [ONE, ONE + 2], U: [ONE + 1, ONE + 3]}
"""Of two transfers."""


def two(s: Any) -> Any:
    transfer(s, 0, (0, 0))
    return transfer(s, 1, (1, 1))


FIRST = ((T, 0, ONE), (U, 0, ONE + 1))
SECOND = ((T, 1, ONE + 2), (U, 1, ONE + 3))
ALL_BUT_ONE = (*FIRST, SECOND[0])
"""Without the second credit."""


def conserved(s: Any) -> Any:
    two(s)
    snapshot(s, 0, {T: 1, U: 1}, *FIRST)
    snapshot(s, 1, {T: 2, U: 2}, *SECOND)
    return read_finally(s, WHOLE)


def cut_by_the_positions(s: Any) -> Any:
    """The first snapshot has one half of each transfer: the others lie above its positions. Its process has got one
    of them all the same."""
    two(s)
    snapshot(s, 0, {T: 2, U: 0}, *ALL_BUT_ONE)
    snapshot(s, 1, {T: 2, U: 2}, SECOND[1])
    return read_finally(s, WHOLE)


def half_lost(s: Any) -> Any:
    """The credit at offset 1 is gone. The first snapshot does not get there, both others do."""
    two(s)
    snapshot(s, 0, {T: 2, U: 1}, *ALL_BUT_ONE)
    snapshot(s, 1, {T: 2, U: 2})
    snapshot(s, 2, {T: 2, U: 2})
    return read_finally(s, {T: WHOLE[T], U: [ONE + 1]}, end=2)


def half_passed(s: Any) -> Any:
    """The snapshot lacks a credit that the final read finds."""
    return read_finally(snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE), WHOLE)


def half_passed_at_an_unknown_offset(s: Any) -> Any:
    """No acknowledgement of the credit was recorded, because its client was killed. The final read finds it below the
    end that the snapshot had reached."""
    transfer(s, 0, (0, 0))
    transfer(s, 1, (None, None), kind="info")
    return read_finally(snapshot(s, 0, {T: 2, U: 2}, *ALL_BUT_ONE), WHOLE)


def half_nowhere(s: Any) -> Any:
    """No acknowledgement of it was recorded, and no final read finds it."""
    transfer(s, 0, (None, None), kind="info")
    return read_finally(snapshot(s, 0, {T: 1, U: 0}, FIRST[0]), {T: [ONE]})


def half_nowhere_without_a_final_read(s: Any) -> Any:
    """It may lie above the position."""
    transfer(s, 0, (None, None), kind="info")
    return snapshot(s, 0, {T: 1, U: 0}, FIRST[0])


def half_that_may_have_been_removed(s: Any) -> Any:
    """The final read of the credits begins behind the first one. The reader did not get it either."""
    two(s)
    snapshot(s, 0, {T: 2, U: 2}, FIRST[0], *SECOND)
    snapshot(s, 0, {T: 0, U: 1}, FIRST[1], process=21)
    read_finally(s, {T: WHOLE[T], U: WHOLE[U]})
    return removed(s)


def half_nowhere_that_may_have_been_removed(s: Any) -> Any:
    """At an unknown offset."""
    transfer(s, 0, (None, None), kind="info")
    transfer(s, 1, (1, 1))
    snapshot(s, 0, {T: 2, U: 2}, FIRST[0], *SECOND)
    read_finally(s, WHOLE)
    return removed(s)


def removed(s: Any) -> Any:
    """The beginning of u-0 was removed before the final read."""
    s.records = [row for row in s.records if not (row.get("final") and row["value"] == ONE + 1)]
    for row in s.operations:
        if row["f"] == "final-read" and row["topic"] == "u":
            row["start_offset"] = 1
    return s


def compacted(s: Any) -> Any:
    """The topic of the credits."""
    settings = {"event": "created", "partitions": 1, "config": {"cleanup.policy": "compact"}}
    return s.harness("topic", settings, topic="u", at=(1, 2)).phases()


def half_in_a_compacted_topic(s: Any) -> Any:
    return read_finally(snapshot(two(compacted(s)), 0, {T: 2, U: 2}, *ALL_BUT_ONE), WHOLE)


def half_nowhere_in_a_compacted_topic(s: Any) -> Any:
    transfer(compacted(s), 0, (None, None), kind="info")
    return read_finally(snapshot(s, 0, {T: 1, U: 0}, FIRST[0]), {T: [ONE]})


def snapshot_that_did_not_complete(s: Any) -> Any:
    """Nothing says how far it got in u-0."""
    snapshot(two(s), 0, {T: 2}, *ALL_BUT_ONE)
    snapshot(s, 0, {U: 2}, kind="info")
    return read_finally(s, WHOLE)


def reads_that_are_no_snapshot(s: Any) -> Any:
    snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE)
    for row in s.operations:
        if row["f"] == "read":
            row["value"] = json.dumps({"committed": True})
    return read_finally(s, WHOLE)


def each_reader_has_its_own_positions(s: Any) -> Any:
    """Process 21 passes both transfers and has them; process 20 has a half of the first one."""
    snapshot(two(s), 0, {T: 1, U: 0}, FIRST[0])
    snapshot(s, 0, {T: 2, U: 2}, *FIRST, *SECOND, process=21)
    return read_finally(s, WHOLE)


def one_of_two_readers_lacks_a_half(s: Any) -> Any:
    snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE)
    snapshot(s, 0, {T: 2, U: 2}, *FIRST, *SECOND, process=21)
    return read_finally(s, WHOLE)


def transfer_that_nobody_got(s: Any) -> Any:
    """A lost transfer does not change the total."""
    snapshot(two(s), 0, {T: 2, U: 2}, *FIRST)
    return read_finally(s, {T: [ONE], U: [ONE + 1]}, end=2)


def credited_twice(s: Any) -> Any:
    """The snapshot has the credit at two offsets."""
    snapshot(two(s), 0, {T: 2, U: 3}, *FIRST, *SECOND, (U, 2, ONE + 3))
    return read_finally(s, {T: WHOLE[T], U: [*WHOLE[U], ONE + 3]})


def taken_again(s: Any) -> Any:
    """The reader went back, and polled what it had polled before."""
    snapshot(two(s), 0, {T: 2, U: 2}, *FIRST, *SECOND)
    snapshot(s, 1, {T: 2, U: 2}, FIRST[1], SECOND[1], assignment=2)
    return read_finally(s, WHOLE)


def got_after_the_snapshot(s: Any) -> Any:
    """The first snapshot passed the credit; the second one has it, because the reader had gone back."""
    snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE)
    snapshot(s, 1, {T: 2, U: 2}, FIRST[1], SECOND[1], assignment=2)
    return read_finally(s, WHOLE)


def got_late_by_a_reader_that_had_gone_back(s: Any) -> Any:
    """The first snapshot passed the credit, and the second one did not get to it."""
    snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE)
    snapshot(s, 1, {T: 2, U: 1}, SECOND[1], assignment=2)
    return read_finally(snapshot(s, 2, {T: 2, U: 2}), WHOLE)


def got_late_when_the_next_snapshot_was_complete(s: Any) -> Any:
    snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE)
    began = s.now + 1
    s.poll(
        ONE + 3, 1, topic="u", amount=10, process=READER, committed=True, assignment=2, at=(began, began + 5)
    )
    for log in (T, U):
        s.operation(
            "read", process=READER, at=(began, began + 5), topic=log[0], start_offset=0, end_offset=2,
            value=json.dumps({"committed": True, "snapshot": 1}),
        )  # fmt: skip
    return read_finally(s, WHOLE)


def amount_without_a_transaction(s: Any) -> Any:
    """Such a record is a deposit: the total rises by it."""
    s.send(ONE + 1, 0, topic="u", amount=10)
    return read_finally(snapshot(s, 0, {T: 0, U: 1}, FIRST[1]), {U: [ONE + 1]})


def snapshot_of_records_without_amounts(s: Any) -> Any:
    """Of another workload."""
    for number in (0, 1):
        s.send(ONE + number, number, transaction=7)
    _commit(s, 7, began=0)
    s.poll(ONE, 0, process=READER, committed=True)
    snapshot(s, 0, {T: 2})
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def half_passed_in_two_steps(s: Any) -> Any:
    """The snapshot is complete when the later one of its reads is."""
    snapshot(two(s), 0, {T: 2}, *ALL_BUT_ONE)
    snapshot(s, 0, {U: 2})
    return read_finally(s, WHOLE)


def two_halves_passed(s: Any) -> Any:
    """The finding names the first one of them."""
    return read_finally(snapshot(two(s), 0, {T: 2, U: 2}, FIRST[0], SECOND[0]), WHOLE)


def half_passed_after_a_read_that_is_no_snapshot(s: Any) -> Any:
    two(s)
    began = s.now + 1
    s.operation(
        "read", process=READER, at=(began, began + 1), topic="u", start_offset=0, end_offset=2,
        value=json.dumps({"committed": True}),
    )  # fmt: skip
    return read_finally(snapshot(s, 0, {T: 2, U: 2}, *ALL_BUT_ONE), WHOLE)


def half_got_after_the_only_snapshot(s: Any) -> Any:
    """No snapshot has it."""
    transfer(s, 0, (0, 0))
    snapshot(s, 0, {T: 1, U: 0})
    s.poll(ONE, 0, amount=-10, process=READER, committed=True, assignment=2)
    return read_finally(s, {T: [ONE], U: [ONE + 1]})


def got_when_the_snapshot_was_complete(s: Any) -> Any:
    """It got the credit at that nanosecond, and the debit before."""
    transfer(s, 0, (0, 0))
    began = s.now + 1
    for (log, offset, value), after in zip(FIRST, (4, 5), strict=True):
        s.poll(
            value, offset, topic=log[0], amount=10 if value % 2 else -10, process=READER, committed=True,
            at=(began, began + after),
        )  # fmt: skip
        s.operation(
            "read", process=READER, at=(began, began + 5), topic=log[0], start_offset=0, end_offset=1,
            value=json.dumps({"committed": True, "snapshot": 0}),
        )  # fmt: skip
    return read_finally(s, {T: [ONE], U: [ONE + 1]})


def credited_once_more_in_the_second_snapshot(s: Any) -> Any:
    """The first one has the credit once, as it should be."""
    snapshot(two(s), 0, {T: 2, U: 2}, *FIRST, *SECOND)
    snapshot(s, 1, {T: 2, U: 3}, (U, 2, ONE + 3))
    return read_finally(s, {T: WHOLE[T], U: [*WHOLE[U], ONE + 3]})


def half_passed_where_the_log_begins(s: Any) -> Any:
    """The record before it was removed, and it was not."""
    snapshot(two(s), 0, {T: 2, U: 2}, *ALL_BUT_ONE)
    return removed(read_finally(s, WHOLE))


def half_nowhere_in_a_log_that_was_not_read(s: Any) -> Any:
    """The snapshot does not say how far it got there. The record is in no log at all."""
    transfer(s, 0, (None, None), kind="info")
    return read_finally(snapshot(s, 0, {T: 1}, FIRST[0]), {T: [ONE]})


def got_in_another_log(s: Any) -> Any:
    """What lies in the wrong account counts nowhere."""
    snapshot(two(s), 0, {T: 2, U: 2}, *FIRST, *SECOND)
    s.poll(ONE, 1, topic="u", amount=-10, process=READER, committed=True, error="misrouted", assignment=2)
    snapshot(s, 1, {T: 2, U: 2})
    return read_finally(s, WHOLE)


def half_passed_and_polled_in_another_transaction(s: Any) -> Any:
    """Process 30 polls the debit in a transaction of its own, which began later than the transfer."""
    two(s)
    s.poll(ONE + 2, 1, topic="t", amount=-10, process=30, committed=True, transaction=(1 << 40) + 2000)
    return read_finally(snapshot(s, 0, {T: 2, U: 2}, *ALL_BUT_ONE), WHOLE)


def half_passed_beside_a_record_without_an_amount(s: Any) -> Any:
    """A third record of the transaction, which the snapshot lacks as well, changes no account: the total does not
    need it."""
    two(s)
    s.send(ONE + 4, 2, topic="u", transaction=(1 << 40) + 1001)
    snapshot(s, 0, {T: 2, U: 3}, *ALL_BUT_ONE)
    read_finally(s, WHOLE)
    now, s.now = s.now, 9_500
    s.poll(ONE + 4, 2, topic="u", process=99, final=True)
    s.now = now
    s.operations[-1]["end_offset"] = 3
    return s


def half_passed_and_a_record_got_in_the_wrong_account(s: Any) -> Any:
    """What lies in the wrong account is no part of the total."""
    two(s)
    s.poll(ONE, 1, topic="u", amount=-10, process=READER, committed=True, error="misrouted", assignment=0)
    return read_finally(snapshot(s, 0, {T: 2, U: 2}, *ALL_BUT_ONE), WHOLE)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    conserved: {},
    cut_by_the_positions: {},
    half_lost: {"wrong-total": 2, "torn-transaction": 1, "lost-write": 1},
    half_passed: {"wrong-total": 1, "torn-transaction": 1},
    half_passed_at_an_unknown_offset: {"wrong-total": 1},
    half_nowhere: {"wrong-total": 1},
    half_nowhere_without_a_final_read: {},
    half_that_may_have_been_removed: {},
    half_nowhere_that_may_have_been_removed: {},
    half_in_a_compacted_topic: {},
    half_nowhere_in_a_compacted_topic: {},
    snapshot_that_did_not_complete: {},
    reads_that_are_no_snapshot: {"torn-transaction": 1},
    each_reader_has_its_own_positions: {},
    one_of_two_readers_lacks_a_half: {"wrong-total": 1, "torn-transaction": 1},
    transfer_that_nobody_got: {"lost-write": 2},
    credited_twice: {"wrong-total": 1, "duplicate": 1},
    taken_again: {},
    got_after_the_snapshot: {"wrong-total": 1},
    got_late_by_a_reader_that_had_gone_back: {"wrong-total": 2, "monotonic-reads": 1},
    got_late_when_the_next_snapshot_was_complete: {"wrong-total": 1},
    half_passed_in_two_steps: {"wrong-total": 1, "torn-transaction": 1},
    two_halves_passed: {"wrong-total": 1, "torn-transaction": 2},
    half_passed_after_a_read_that_is_no_snapshot: {"wrong-total": 1, "torn-transaction": 1},
    half_got_after_the_only_snapshot: {},
    got_when_the_snapshot_was_complete: {},
    credited_once_more_in_the_second_snapshot: {"wrong-total": 1, "duplicate": 1},
    half_passed_where_the_log_begins: {"wrong-total": 1, "torn-transaction": 1},
    half_nowhere_in_a_log_that_was_not_read: {"wrong-total": 1},
    got_in_another_log: {"foreign-record": 1},
    half_passed_and_polled_in_another_transaction: {"wrong-total": 1, "torn-transaction": 1},
    half_passed_beside_a_record_without_an_amount: {"wrong-total": 1, "torn-transaction": 2},
    half_passed_and_a_record_got_in_the_wrong_account: {
        "wrong-total": 1,
        "torn-transaction": 1,
        "foreign-record": 1,
    },
    amount_without_a_transaction: {},
    snapshot_of_records_without_amounts: {"torn-transaction": 1},
}
