"""Histories of a share group: lost records, double holders, redeliveries, wrong counts, and near misses.

Four records lie at the offsets 0 to 3. The lock lasts 30 ns, and a record is archived after 5 deliveries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

ONE = 1 << 40  # values of process 1, which feeds
LOCK = 30
LONG = 20_000_000_000
"""ns: longer than a delayed request lasts."""


def fed(s: Any, count: int = 4, *, found: int | None = None, **log: Any) -> Any:
    for offset in range(count):
        s.send(ONE + offset, offset, at=(offset + 1, offset + 2), **log)
    found = count if found is None else found
    return s.final({offset: ONE + offset for offset in range(found)}, end=found, **log)


def got(
    s: Any, offset: int, op: int, at: tuple[int, int] = (20, 30), *, count: int | None = 1, process: int = 5,
    since: int | None = -1, kind: str = "ok", **more: Any,
) -> Any:  # fmt: skip
    """A delivery. since: as invoked by default."""
    about = {"value": ONE + offset, "deliveries": count, "since": at[0] if since == -1 else since}
    return s.operation(
        "delivery", op=op, process=process, at=at, type=kind, start_offset=offset, value=json.dumps(about),
        **{"group": "q"} | more,
    )  # fmt: skip


def said(
    s: Any, offset: int, delivery: int, kind: str = "accept", at: tuple[int, int] = (40, 50), *,
    answer: str | None = "ok", process: int = 5, **more: Any,
) -> Any:  # fmt: skip
    """An acknowledgement. answer: type of its second row; None: there is none."""
    columns = {
        "op": delivery + 1_000_000, "process": process, "start_offset": offset,
        "value": json.dumps({"delivery": delivery, "kind": kind}), "group": "q", **more,
    }  # fmt: skip
    s.operation("acknowledgement", at=(at[0], None), type="info", **columns)
    if answer is not None:
        s.operation("acknowledgement", at=at, type=answer, **columns)
    return s


def took(s: Any, *offsets: int, kind: str = "accept", **more: Any) -> Any:
    """Each of these was delivered once, and acknowledged."""
    for offset in offsets:
        got(s, offset, 100 + offset, **more)
        said(s, offset, 100 + offset, kind, **more)
    return s


def ended(
    s: Any, reached: int | None = 4, *, limit: int | None = 5, kind: str = "ok", about: Any = None, **more: Any
) -> Any:  # fmt: skip
    """about: of the group, such as its isolation."""
    about = {"lock": LOCK} | ({} if limit is None else {"delivery_limit": limit}) | (about or {})
    return s.operation(
        "queue", process=8, type=kind, end_offset=reached, value=json.dumps(about), **{"group": "q"} | more
    )


def killed(s: Any, *processes: int, event: str = "killed", at: tuple[int, int] = (900, 901)) -> Any:
    for process in processes:
        s.harness("worker", {"role": "share-consumer", "process": process, "event": event}, at=at)
    return s


def each_is_accepted(s: Any) -> Any:
    return ended(took(fed(s), 0, 1, 2, 3))


def redelivered(s: Any, op: int, later: int = 0, **more: Any) -> Any:
    """The record at offset 3 was released, delivered again and accepted."""
    got(s, 3, op, (20 + later, 30 + later), **more)
    said(s, 3, op, "release", (60 + later, 65 + later), **more)
    got(s, 3, op + 1, (70 + later, 75 + later), count=2, **more)
    return said(s, 3, op + 1, at=(80 + later, 85 + later), **more)


def redelivered_beside_a_delivery_that_failed(s: Any) -> Any:
    """Its count says nothing."""
    return ended(got(redelivered(took(fed(s), 0, 1, 2), 200), 3, 202, (67, 68), count=0, kind="info"))


def redelivered_in_two_groups(s: Any) -> Any:
    """At the same times."""
    redelivered(took(fed(s), 0, 1, 2), 200)
    for offset in range(3):
        said(got(s, offset, 400 + offset, group="p"), offset, 400 + offset, group="p")
    return ended(ended(redelivered(s, 300, 6, group="p")), group="p")


def redelivered_in_two_topics(s: Any) -> Any:
    redelivered(took(fed(s), 0, 1, 2), 200)
    for offset in range(4):
        s.send((2 << 40) + offset, offset, topic="u", at=(offset + 1, offset + 2))
    s.final({offset: (2 << 40) + offset for offset in range(4)}, end=4, topic="u")
    for offset in range(3):
        said(got(s, offset, 400 + offset, topic="u"), offset, 400 + offset, topic="u")
    return ended(ended(redelivered(s, 300, 6, topic="u")), topic="u")


def never_delivered(s: Any) -> Any:
    """Of two, and the group is done with both."""
    return ended(took(fed(s), 0, 3))


def delivered_and_never_acknowledged(s: Any) -> Any:
    return ended(got(took(fed(s), 0, 1, 2), 3, 200))


def only_released(s: Any) -> Any:
    return ended(said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200, "release"))


def accepted_and_never_sent(s: Any) -> Any:
    """The client says that nothing was sent."""
    return ended(said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200, answer="fail"))


def accepted_by_another_group(s: Any) -> Any:
    return ended(ended(took(fed(s), 0, 1, 2, 3)), group="p")


def accepted_in_another_partition(s: Any) -> Any:
    return ended(took(took(fed(s), 0, 1, 2), 3, partition=1))


def accepted_in_another_topic(s: Any) -> Any:
    return ended(took(took(fed(s), 0, 1, 2), 3, topic="u"))


def accepted_without_an_answer(s: Any) -> Any:
    """By a consumer that ended then, and by one that got an error."""
    said(got(took(fed(s), 0, 1), 2, 200), 2, 200, answer=None)
    return ended(said(got(s, 3, 201), 3, 201, answer="info"))


def rejected(s: Any) -> Any:
    return ended(took(took(fed(s), 0, 1, 2), 3, kind="reject"))


def not_reached(s: Any) -> Any:
    return ended(took(fed(s), 0, 1), 2)


def not_reached_and_accepted(s: Any) -> Any:
    """The group's start may lag behind."""
    return ended(took(fed(s), 0, 1, 2, 3), 2)


def unknown_end(s: Any) -> Any:
    return ended(took(fed(s), 0, 1), None, kind="info")


def lost_from_the_log(s: Any) -> Any:
    """No fault of the group."""
    return ended(took(fed(s, found=3), 0, 1, 2))


def lost_from_the_log_after_a_read(s: Any) -> Any:
    s.poll(ONE + 3, 3, at=(12, 13))
    return ended(took(fed(s, found=3), 0, 1, 2))


def never_sent_and_never_delivered(s: Any) -> Any:
    """When it was sent is unknown."""
    return ended(took(fed(s, found=5), 0, 1, 2, 3), 5)


def found_by_two_final_reads(s: Any) -> Any:
    fed(s).final({offset: ONE + offset for offset in range(4)}, end=4, process=97)
    return ended(took(s, 0, 1, 2))


def a_foreign_record(s: Any) -> Any:
    """What becomes of it is not judged."""
    fed(s).poll(None, 4, process=99, final=True, error="foreign")
    return ended(took(s, 0, 1, 2, 3), 5)


def archived_after_its_deliveries(s: Any) -> Any:
    took(fed(s), 0, 1, 2)
    for count in range(1, 6):
        got(s, 3, 200 + count, (20 * count * LOCK, 20 * count * LOCK + 10), count=count)
    return ended(s)


def one_delivery_below_the_limit(s: Any) -> Any:
    return ended(got(took(fed(s), 0, 1, 2), 3, 200, count=4))


def one_delivery_below_the_limit_and_a_crash(s: Any) -> Any:
    return ended(killed(got(took(fed(s), 0, 1, 2), 3, 200, count=4), 5))


def crashes_and_a_fault_below_the_limit(s: Any) -> Any:
    """Three of them: one client was killed and crashed, another one crashed."""
    killed(killed(took(fed(s), 0, 1, 2), 5), 5, 6, event="crashed")
    return ended(s.fault("inject").fault("heal"), limit=4)


def crashes_and_faults_up_to_the_limit(s: Any) -> Any:
    killed(took(fed(s), 0, 1, 2), 5, 6)
    return ended(s.fault("inject").fault("inject", event="e2"), limit=4)


def clients_that_stopped(s: Any) -> Any:
    return ended(killed(took(fed(s), 0, 1, 2), 5, 6, event="stopped"), limit=2)


def an_unknown_limit(s: Any) -> Any:
    return ended(took(fed(s), 0, 1, 2), limit=None)


def delivered_twice_and_lost(s: Any) -> Any:
    """The second delivery has the higher count, and is the last one."""
    said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200, "release")
    return ended(got(s, 3, 201, (60, 70), count=2))


def two_holders(
    s: Any, first: tuple[int, int] = (20, 30), second: tuple[int, int] = (32, 36), *, since: int | None = -1,
    later: int | None = -1, asked: int = 40, process: int = 6,
) -> Any:  # fmt: skip
    """Of offset 3. asked: when the first one was acknowledged."""
    got(took(fed(s), 0, 1, 2), 3, 200, first, since=since)
    got(s, 3, 201, second, count=2, process=process, since=later)
    said(s, 3, 200, "release", (asked, asked + 5))
    return said(s, 3, 201, at=(45, 50), process=process)


def held_twice(s: Any) -> Any:
    return ended(two_holders(s))


def held_twice_by_one_consumer(s: Any) -> Any:
    return ended(two_holders(s, process=5))


def held_by_three(s: Any) -> Any:
    got(two_holders(s), 3, 202, (33, 38), count=3, process=7)
    return ended(said(s, 3, 202, at=(41, 44), process=7))


def held_once_it_was_released(s: Any) -> Any:
    return ended(two_holders(s, asked=36))


def held_once_its_release_was_requested_twice(s: Any) -> Any:
    """The request without an answer may have released it."""
    said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200, "release", (34, 35), answer=None)
    got(s, 3, 201, (32, 36), count=2, process=6)
    said(s, 3, 200, "release", (40, 44), op=2_000_000)
    return ended(said(s, 3, 201, at=(45, 50), process=6))


def held_once_the_lock_had_timed_out(s: Any) -> Any:
    """It may have been acquired long before the poll returned it."""
    return ended(two_holders(s, since=36 - LOCK))


def held_before_the_lock_had_timed_out(s: Any) -> Any:
    return ended(two_holders(s, since=37 - LOCK))


def held_by_one_that_had_lost_it(s: Any) -> Any:
    """The second one got it out of a buffer, when its own lock may have timed out."""
    return ended(two_holders(s, later=36 - LOCK))


def held_at_unknown_times(s: Any) -> Any:
    return ended(two_holders(s, since=None))


def held_and_never_acknowledged(s: Any) -> Any:
    got(took(fed(s), 0, 1, 2), 3, 200)
    got(s, 3, 201, (32, 36), count=2, process=6)
    return ended(said(s, 3, 201, at=(45, 50), process=6))


def held_twice_after_a_crash(s: Any) -> Any:
    return ended(two_holders(killed(s, 7, at=(10, 11))))


def held_twice_before_a_crash(s: Any) -> Any:
    return ended(two_holders(killed(s, 7, at=(37, 38))))


def held_twice_between_two_crashes(s: Any) -> Any:
    return ended(two_holders(killed(killed(s, 7, at=(10, 11)), 9, at=(60, 61))))


def held_twice_with_unknown_locks(s: Any) -> Any:
    return ended(two_holders(s), kind="info")


def held_of_two_groups(s: Any) -> Any:
    got(took(fed(s), 0, 1, 2), 3, 200)
    got(s, 3, 201, (32, 36), process=6, group="p")
    said(said(s, 3, 200), 3, 201, at=(45, 50), process=6, group="p")
    return ended(s)


def held_in_two_partitions(s: Any) -> Any:
    got(took(fed(s), 0, 1, 2), 3, 200)
    got(s, 3, 201, (32, 36), process=6, partition=1)
    said(said(s, 3, 200), 3, 201, at=(45, 50), process=6, partition=1)
    return ended(ended(s), partition=1)


def held_in_two_topics(s: Any) -> Any:
    got(took(fed(s), 0, 1, 2), 3, 200)
    got(s, 3, 201, (32, 36), process=6, topic="u")
    said(said(s, 3, 200), 3, 201, at=(45, 50), process=6, topic="u")
    return ended(ended(s), topic="u")


def again(
    s: Any, kind: str = "accept", *, answer: str | None = "ok", since: int = 51, count: int = 2, more: int = 0
) -> Any:
    """All were acknowledged at 40 to 50, and the last one of them is delivered again."""
    took(fed(s), 0, 1, 2)
    said(got(s, 3, 200), 3, 200, kind, answer=answer)
    at = (60 + more, 70 + more)
    got(s, 3, 201, at, count=count, since=since + more, process=6)
    return said(s, 3, 201, at=(80 + more, 90 + more), process=6)


def accepted_and_delivered_again(s: Any) -> Any:
    return ended(again(s))


def accepted_and_delivered_again_to_one_that_never_acknowledged(s: Any) -> Any:
    said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200)
    return ended(got(s, 3, 201, (60, 70), count=2, since=51, process=6))


def accepted_and_delivered_again_with_an_unknown_end(s: Any) -> Any:
    return ended(again(s), None, kind="info")


def accepted_twice_and_delivered_after_the_first_confirmation(s: Any) -> Any:
    said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200)
    said(s, 3, 200, at=(41, 55), op=2_000_000)
    got(s, 3, 201, (60, 70), count=2, since=52, process=6)
    return ended(said(s, 3, 201, at=(80, 90), process=6))


def accepted_and_delivered_to_another_group(s: Any) -> Any:
    got(took(fed(s), 0, 1, 2, 3), 3, 201, (60, 70), since=50, process=6, group="p")
    return ended(said(s, 3, 201, at=(80, 90), process=6, group="p"))


def accepted_and_delivered_again_with_the_same_count(s: Any) -> Any:
    """The broker counts again from 1, because it has forgotten the record. That the count is low is no other
    anomaly: it has to grow after a release."""
    return ended(again(s, count=1))


def rejected_and_delivered_again(s: Any) -> Any:
    return ended(again(s, "reject"))


def released_and_delivered_again(s: Any) -> Any:
    return ended(again(s, "release"))


def accepted_and_already_acquired(s: Any) -> Any:
    """The second one may have acquired it before, and have lost its lock: at the nanosecond of the confirmation."""
    return ended(again(s, since=50))


def accepted_without_a_confirmation_and_again(s: Any) -> Any:
    return ended(again(s, answer="info"))


def accepted_and_again_soon_after_a_crash(s: Any) -> Any:
    return ended(again(killed(s, 7, at=(55, 56))))


def accepted_and_again_at_a_crash(s: Any) -> Any:
    """At the nanosecond at which the poll returns."""
    return ended(again(killed(s, 7, at=(70, 71))))


def accepted_and_again_before_a_crash(s: Any) -> Any:
    return ended(again(killed(s, 7, at=(71, 72))))


def accepted_and_again_long_after_a_crash(s: Any) -> Any:
    return ended(again(killed(s, 7, at=(55, 56)), more=LONG))


def released_and_the_same_count(s: Any) -> Any:
    return ended(again(s, "release", count=1))


def released_without_a_confirmation_and_the_same_count(s: Any) -> Any:
    return ended(again(s, "release", count=1, answer=None))


def released_and_already_acquired_with_the_same_count(s: Any) -> Any:
    return ended(again(s, "release", count=1, since=50))


def released_and_the_same_count_soon_after_a_fault(s: Any) -> Any:
    s.operation(
        "kill", process=-1, type="info", at=(15, 16), topic=None, partition=None,
        value=json.dumps({"event": "e1", "stage": "inject", "target": "leader", "nodes": [2], "effective": True}),
    )  # fmt: skip
    return ended(again(s, "release", count=1).fault("heal"))


def finished_twice_and_delivered_again(s: Any) -> Any:
    """The third delivery follows two confirmations, the second one follows one."""
    got(again(s), 3, 202, (100, 110), count=3, process=7)
    return ended(said(s, 3, 202, at=(120, 130), process=7))


def released_twice_and_the_count_of_the_first(s: Any) -> Any:
    """The second one has the count 3, and that of the third is not above it, but above that of the first."""
    said(got(took(fed(s), 0, 1, 2), 3, 200), 3, 200, "release")
    got(s, 3, 201, (60, 70), count=3, process=6)
    said(s, 3, 201, "release", (80, 90), process=6)
    got(s, 3, 202, (100, 110), count=2, process=7)
    return ended(said(s, 3, 202, at=(120, 130), process=7))


def a_count_above_the_limit(s: Any) -> Any:
    """And one that is the limit, one of 0, and one that is unknown."""
    for offset, count in enumerate((6, 5, 0, None)):
        said(got(s, offset, 200 + offset, count=count), offset, 200 + offset)
    return ended(fed(s))


def what_is_no_delivery(s: Any) -> Any:
    """A poll of unknown outcome."""
    said(got(took(fed(s), 0, 1, 2), 3, 200, count=0, kind="info"), 3, 200)
    return ended(s)


PLANTED: Mapping[Callable[[Any], Any], dict[str, int]] = {
    each_is_accepted: {},
    redelivered_beside_a_delivery_that_failed: {},
    redelivered_in_two_groups: {},
    redelivered_in_two_topics: {},
    never_delivered: {"queue-lost": 2},
    delivered_and_never_acknowledged: {"queue-lost": 1},
    only_released: {"queue-lost": 1},
    accepted_and_never_sent: {"queue-lost": 1},
    accepted_by_another_group: {"queue-lost": 4},
    accepted_in_another_partition: {"queue-lost": 1},
    accepted_in_another_topic: {"queue-lost": 1},
    accepted_without_an_answer: {},
    rejected: {},
    not_reached: {"queue-unfinished": 2},
    not_reached_and_accepted: {},
    unknown_end: {},
    lost_from_the_log: {"lost-write": 1},
    lost_from_the_log_after_a_read: {"lost-write": 1},
    never_sent_and_never_delivered: {"phantom-read": 1, "queue-lost": 1},
    found_by_two_final_reads: {"queue-lost": 1},
    a_foreign_record: {"foreign-record": 1},
    archived_after_its_deliveries: {},
    one_delivery_below_the_limit: {"queue-lost": 1},
    one_delivery_below_the_limit_and_a_crash: {},
    crashes_and_a_fault_below_the_limit: {"queue-lost": 1},
    crashes_and_faults_up_to_the_limit: {},
    clients_that_stopped: {"queue-lost": 1},
    an_unknown_limit: {},
    delivered_twice_and_lost: {"queue-lost": 1},
    held_twice: {"queue-double-holder": 1},
    held_twice_by_one_consumer: {"queue-double-holder": 1},
    held_by_three: {"queue-double-holder": 2},
    held_once_it_was_released: {},
    held_once_its_release_was_requested_twice: {},
    held_once_the_lock_had_timed_out: {},
    held_before_the_lock_had_timed_out: {"queue-double-holder": 1},
    held_by_one_that_had_lost_it: {},
    held_at_unknown_times: {},
    held_and_never_acknowledged: {},
    held_twice_after_a_crash: {},
    held_twice_before_a_crash: {"queue-double-holder": 1},
    held_twice_between_two_crashes: {},
    held_twice_with_unknown_locks: {},
    held_of_two_groups: {},
    held_in_two_partitions: {},
    held_in_two_topics: {},
    accepted_and_delivered_again: {"queue-redelivery": 1},
    accepted_and_delivered_again_to_one_that_never_acknowledged: {"queue-redelivery": 1},
    accepted_and_delivered_again_with_an_unknown_end: {"queue-redelivery": 1},
    accepted_twice_and_delivered_after_the_first_confirmation: {"queue-redelivery": 1},
    accepted_and_delivered_to_another_group: {},
    accepted_and_delivered_again_with_the_same_count: {"queue-redelivery": 1},
    rejected_and_delivered_again: {"queue-redelivery": 1},
    released_and_delivered_again: {},
    accepted_and_already_acquired: {},
    accepted_without_a_confirmation_and_again: {},
    accepted_and_again_soon_after_a_crash: {},
    accepted_and_again_at_a_crash: {},
    accepted_and_again_before_a_crash: {"queue-redelivery": 1},
    accepted_and_again_long_after_a_crash: {"queue-redelivery": 1},
    released_and_the_same_count: {"queue-delivery-count": 1},
    released_without_a_confirmation_and_the_same_count: {},
    released_and_already_acquired_with_the_same_count: {},
    released_and_the_same_count_soon_after_a_fault: {},
    finished_twice_and_delivered_again: {"queue-redelivery": 2},
    released_twice_and_the_count_of_the_first: {"queue-delivery-count": 1},
    a_count_above_the_limit: {"queue-delivery-count": 2},
    what_is_no_delivery: {},
}
