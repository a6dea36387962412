"""Histories with anomalies of transactions, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

ONE, TWO, THREE = 1 << 40, 2 << 40, 3 << 40  # values of processes 1, 2, 3
A, B, C = 101, 102, 103  # transactions
Span = tuple[int, int | None]


def txn(
    s: Any, op: int, at: Span, *, process: int = 1, kind: str = "ok", outcome: str = "commit",
    name: str = "x", epoch: int | None = 0, ending: int | None = None, is_ended: bool = True,
    producer_id: int | None = None,
) -> Any:  # fmt: skip
    value = {"transactional_id": name, "epoch": epoch, "outcome": outcome, **known(producer_id)}
    value["ending"] = at[1] - 1 if ending is None and at[1] is not None and is_ended else ending
    more = {"op": op, "process": process, "type": kind, "value": json.dumps(value), "topic": None}
    return s.operation("txn", at=at, partition=None, **more)


def known(producer_id: int | None) -> dict[str, Any]:
    return {} if producer_id is None else {"producer_id": producer_id}


def init(
    s: Any, process: int, epoch: int, at: Span, *, name: str = "x", kind: str = "ok", producer_id: int | None = None
) -> Any:  # fmt: skip
    value = json.dumps({"transactional_id": name, "epoch": epoch, **known(producer_id)})
    more = {"process": process, "type": kind, "value": value, "topic": None}
    return s.operation("init", at=at, partition=None, **more)


def observe(
    s: Any, last_stable: int | None, asked: int | None, *, node: int = 1, leader: int = 1, epoch: int = 1,
    high: int | None = 10, end: int | None = 10, partition: int = 0,
) -> Any:  # fmt: skip
    row = {"process": 50, "node": node, "kind": "partition", "topic": "t", "partition": partition}
    row |= {"time": (asked or 0) + 5, "leader": leader, "leader_epoch": epoch, "isr": [1, 2]}
    row |= {"high_watermark": high, "log_end": end, "last_stable": last_stable, "asked": asked}
    s.observations.append(row)
    return s


READ = {"committed": True}


def two_parts(s: Any, *, kind: str = "ok", other: int = 0) -> Any:
    """A transaction of two records, at offset 0 of partition 0 and offset 1 of another (or the same)."""
    s.send(ONE, 0, at=(10, 90), transaction=A, type=kind)
    s.send(ONE + 1, 1, at=(20, 90), transaction=A, type=kind, partition=other)
    return txn(s, A, (5, 90), kind=kind, ending=80)


def committed_whole(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(91, 95), **READ).poll(ONE + 1, 1, at=(91, 95), **READ)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def aborted_and_hidden(s: Any) -> Any:
    """A read_uncommitted reader gets the aborted record, too; a read_committed reader does not."""
    s.send(ONE, 0, at=(10, 90), transaction=A, type="fail")
    txn(s, A, (5, 90), outcome="abort", ending=80)
    s.send(TWO, 2, process=2).poll(ONE, 0, at=(20, 30)).poll(TWO, 2)
    return s.final({2: TWO}, end=3, **READ)


def aborted_and_read(s: Any) -> Any:
    s.send(ONE, 0, at=(10, 90), transaction=A, type="fail")
    txn(s, A, (5, 90), outcome="abort", ending=80)
    return s.send(TWO, 2, process=2).final({0: ONE, 2: TWO}, end=3, **READ)


def torn_in_a_partition(s: Any) -> Any:
    """The final read gets both records; another reader passes over the second one."""
    two_parts(s).send(TWO, 2, process=2)
    s.poll(ONE, 0, **READ).poll(TWO, 2, **READ)
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3, **READ)


def torn_across_partitions(s: Any) -> Any:
    """All final reads count as one reader. The missing record was acknowledged, so it is a lost write, too."""
    two_parts(s, other=1).send(TWO, 0, partition=1, process=2, at=(1, s.now))
    s.final({0: ONE}, end=1, process=98, **READ)
    return s.final({0: TWO}, end=2, partition=1, process=99, **READ)


def torn_at_the_end_of_a_read(s: Any) -> Any:
    """No polled record lies beyond the missing one, but the read completed up to a higher end offset."""
    two_parts(s, kind="info")
    return s.final({0: ONE}, end=2, **READ)


def torn_by_an_earlier_assignment(s: Any) -> Any:
    two_parts(s).send(TWO, 2, process=2)
    s.poll(ONE, 0, **READ).poll(TWO, 2, assignment=2, **READ).poll(ONE, 0, assignment=3, **READ)
    s.poll(TWO, 2, assignment=3, **READ)
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3, **READ)


def not_reached_yet(s: Any) -> Any:
    """One reader stopped before the record, one began beyond it, and a third was assigned again in between."""
    two_parts(s).send(TWO, 2, process=2)
    s.poll(ONE, 0, process=11, **READ).poll(TWO, 2, process=12, **READ)
    s.poll(ONE, 0, process=13, **READ).poll(TWO, 2, process=13, assignment=2, **READ)
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3, **READ)


def passed_over_by_a_read_uncommitted_reader(s: Any) -> Any:
    two_parts(s).send(TWO, 2, process=2)
    s.poll(ONE, 0, committed=False).poll(TWO, 2, committed=False)
    return s.final({0: ONE, 1: ONE + 1, 2: TWO}, end=3, **READ)


def none_of_it_seen(s: Any) -> Any:
    """The outcome is unknown to the client; the transaction was in fact aborted."""
    two_parts(s, kind="info").send(TWO, 3, process=2)
    return s.final({3: TWO}, end=4, **READ)


def precommitted(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(70, 79), **READ)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def read_while_it_was_committed(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(70, 80), **READ).poll(ONE + 1, 1, at=(70, 79), process=11)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def own_write_read_in_its_transaction(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(79, 85), process=1, transaction=A, **READ)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def own_write_read_uncommitted(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(70, 75), process=1, transaction=A)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def read_before_it_was_sent(s: Any) -> Any:
    s.send(ONE, 0, at=(50, 60)).poll(ONE, 0, at=(30, 49))
    return s.final({0: ONE}, end=1)


def read_when_it_was_sent(s: Any) -> Any:
    s.send(ONE, 0, at=(50, 60)).poll(ONE, 0, at=(30, 50))
    return s.final({0: ONE}, end=1)


def three_on_two_logs(s: Any, orders: dict[int, list[int]], spans: dict[int, Span]) -> Any:
    """Transactions write to each log in the given order; final reads return every record."""
    for partition, order in orders.items():
        for offset, op in enumerate(order):
            value = (op - 100 << 40) + partition
            s.send(value, offset, transaction=op, partition=partition, process=op - 100, at=spans[op])
    for op, span in spans.items():
        txn(s, op, span, process=op - 100, name=f"x{op}")
    for partition, order in orders.items():
        log = {offset: (op - 100 << 40) + partition for offset, op in enumerate(order)}
        s.final(log, end=len(order), partition=partition, **READ)
    return s


def written_in_opposite_orders(s: Any) -> Any:
    return three_on_two_logs(s, {0: [A, B], 1: [B, A]}, {A: (1, 10), B: (2, 9)})


def written_in_one_order(s: Any) -> Any:
    return three_on_two_logs(s, {0: [A, B], 1: [A, B]}, {A: (1, 10), B: (2, 9)})


def written_against_real_time(s: Any) -> Any:
    """C ended before A began, yet A comes before B, and B before C."""
    return three_on_two_logs(s, {0: [A, B], 1: [B, C]}, {A: (30, 40), B: (1, 50), C: (10, 20)})


def written_in_real_time_order(s: Any) -> Any:
    return three_on_two_logs(s, {0: [A, B], 1: [B, C]}, {A: (20, 40), B: (1, 50), C: (10, 20)})


def each_read_the_other(s: Any) -> Any:
    """Each transaction reads a record of the other. Neither poll completed before the other's commit began."""
    for op, process, own, other in ((A, 1, 0, 1), (B, 2, 1, 0)):
        written = (ONE, TWO)
        s.send(written[own], own, transaction=op, at=(2, 40))
        s.poll(written[other], other, process=process, transaction=op, at=(20, 30), **READ)
        txn(s, op, (1, 40), process=process, name=f"x{op}", ending=30)
    return s.final({0: ONE, 1: TWO}, end=2, **READ)


def one_read_the_other(s: Any) -> Any:
    s.send(ONE, 0, transaction=A, at=(2, 40))
    txn(s, A, (1, 40), name="x1", ending=30)
    s.send(TWO, 1, transaction=B, at=(2, 60)).poll(ONE, 0, process=2, transaction=B, at=(20, 31), **READ)
    txn(s, B, (1, 60), process=2, name="x2", ending=50)
    return s.final({0: ONE, 1: TWO}, end=2, **READ)


def read_a_record_behind_its_own(s: Any) -> Any:
    """A's record precedes B's in the log, and A read B's committed record: Kafka promises no order of writes."""
    s.send(ONE, 0, transaction=A, at=(2, 60)).send(TWO, 1, transaction=B, at=(3, 20))
    txn(s, B, (1, 20), process=2, name="x2", ending=15)
    s.poll(TWO, 1, process=1, transaction=A, at=(30, 40), **READ)
    txn(s, A, (1, 60), name="x1", ending=50)
    return s.final({0: ONE, 1: TWO}, end=2, **READ)


def read_against_real_time(s: Any) -> Any:
    """B read A's record and ended; then C began and ended; then A read C's record. B read A's record too early."""
    s.send(ONE, 0, transaction=A, at=(2, 90))
    txn(s, A, (1, 90), name="x1", ending=20)
    s.poll(ONE, 0, process=2, transaction=B, at=(15, 25), **READ)
    txn(s, B, (5, 30), process=2, name="x2", ending=26)
    s.send(THREE, 1, transaction=C, at=(40, 50))
    txn(s, C, (31, 50), process=3, name="x3", ending=45)
    s.poll(THREE, 1, process=1, transaction=A, at=(60, 70), **READ)
    return s.final({0: ONE, 1: THREE}, end=2, **READ)


def read_at_the_same_time(s: Any) -> Any:
    """As before, but C began when B ended: no real-time edge leads from B to C, and the cycle needs a ww edge."""
    read_against_real_time(s)
    s.operations[2] = s.operations[2] | {"invoked": 30}
    return s


def above_the_last_stable_offset(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0, at=(91, 95), **READ).poll(ONE + 1, 1, at=(96, 100), **READ)
    txn(observe(observe(s, 2, 101), 1, 102), A, (103, 110), outcome="abort")
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def not_above_the_last_stable_offset(s: Any) -> Any:
    """Samples that prove nothing.

    They were requested before the poll completed, come from another node, a former leader, or a leader that is still
    catching up, or belong to another partition; or the poll was read_uncommitted.
    """
    s.send(ONE, 0).send(ONE + 1, 1).send(TWO, 0, partition=1).poll(ONE + 1, 1, at=(96, 100), **READ)
    s.poll(ONE, 0, process=11, at=(91, 95))
    s.poll(TWO, 0, partition=1, process=12, at=(91, 95))
    observe(observe(s, 1, 100), 2, 101)
    observe(s, 1, 102, node=2), observe(s, 1, 102, epoch=0), observe(s, 1, 102, high=9)
    observe(s, 1, None), observe(s, None, 103), observe(s, 0, 102, partition=1)
    return s.final({0: ONE, 1: ONE + 1}, end=2).final({0: TWO}, end=1, partition=1)


def zombie(s: Any) -> Any:
    """The fenced producer's record was accepted, later aborted, and never read: the broker had to refuse it."""
    init(s, 1, 0, (1, 5)), init(s, 2, 1, (10, 20))
    s.send(ONE, 0, transaction=A, at=(21, 40), type="fail").send(TWO, 1, at=(50, 60))
    txn(s, A, (15, 40), outcome="abort")
    return s.final({1: TWO}, end=2, **READ)


def zombie_that_was_read(s: Any) -> Any:
    init(s, 2, 1, (10, 20))
    s.send(ONE, None, transaction=A, at=(21, None), type="info").poll(ONE, 0)
    txn(s, A, (15, None), kind="info")
    return s.final({0: ONE}, end=1, **READ)


def zombie_that_was_committed(s: Any) -> Any:
    init(s, 2, 1, (10, 20))
    s.send(ONE, None, transaction=A, at=(21, 40))
    txn(s, A, (15, 40))
    return s.final({0: ONE}, end=1, **READ)


def no_zombies(s: Any) -> Any:
    """Sends of producers that were not fenced before.

    They were refused, or sent before the init completed; the init belongs to another id, failed, has a lower epoch,
    or was the producer's own; or the epochs started again at 0.
    """
    init(s, 9, 5, (10, 20)), init(s, 9, 9, (10, 20), name="other"), init(s, 9, 9, (10, 20), kind="fail")
    s.send(ONE, None, transaction=A, at=(21, 30), type="fail").send(
        ONE + 1, 0, transaction=A, at=(20, 30), type="fail"
    )
    txn(s, A, (15, 30), kind="fail", epoch=4)
    s.send(TWO, 1, transaction=B, at=(21, 40))
    txn(s, B, (18, 40), process=2, epoch=5)
    s.send(9 << 40, 2, transaction=C, at=(50, 60), process=9)
    txn(s, C, (45, 60), process=9, epoch=4)
    init(s, 3, 0, (60, 65))
    s.send(THREE, 3, transaction=104, at=(70, 80))
    txn(s, 104, (66, 80), process=3, epoch=0)
    return s.final({1: TWO, 2: 9 << 40, 3: THREE}, end=4, **READ)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    committed_whole: {},
    aborted_and_hidden: {},
    aborted_and_read: {"G1a": 1},
    torn_in_a_partition: {"torn-transaction": 1, "poll-skip": 1},
    torn_across_partitions: {"torn-transaction": 1, "lost-write": 1},
    torn_at_the_end_of_a_read: {"torn-transaction": 1},
    torn_by_an_earlier_assignment: {"torn-transaction": 1, "poll-skip": 1},
    not_reached_yet: {},
    passed_over_by_a_read_uncommitted_reader: {"poll-skip": 1},
    none_of_it_seen: {},
    precommitted: {"precommitted-read": 1},
    read_while_it_was_committed: {},
    own_write_read_in_its_transaction: {"precommitted-read": 1},
    own_write_read_uncommitted: {},
    read_before_it_was_sent: {"future-read": 1},
    read_when_it_was_sent: {},
    written_in_opposite_orders: {"G0": 1},
    written_in_one_order: {},
    written_against_real_time: {"G0-realtime": 1},
    written_in_real_time_order: {},
    each_read_the_other: {"G1c-wr": 1},
    one_read_the_other: {},
    read_a_record_behind_its_own: {"G1c": 1},
    read_against_real_time: {"G1c-realtime": 1},
    read_at_the_same_time: {"G1c": 1},
    above_the_last_stable_offset: {"read-above-lso": 1},
    not_above_the_last_stable_offset: {"watermark-regression": 1},
    zombie: {"zombie-write": 1},
    zombie_that_was_read: {"zombie-write": 1},
    zombie_that_was_committed: {"zombie-write": 1},
    no_zombies: {},
}
