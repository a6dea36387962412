"""Histories in which a topic grows while a group, or a share group, reads it, and near misses.

The topic t has one partition, of which member 5 gets the only record. Partition 1 is added, and three records are
written to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, Span, commit, log, member, polled
from tests.support.stories.queues import ended, fed, got, took
from tests.support.stories.removals import DAYS, fault
from workloads.history.schema import HARNESS, NEMESIS

NEW = 3 << 40
"""Values of process 3, which writes to the new partition."""


def created(s: Any, partitions: int | None = 1, *, topic: str = "t") -> Any:
    value = {"event": "created", "id": "a", "config": DAYS, "partitions": partitions}
    return s.operation(
        "topic", process=HARNESS, topic=topic, partition=None, at=(0, 1), value=json.dumps(value)
    )


def altered(s: Any, at: Span = (40, 45), *, change: str = "partitions", kind: str = "ok") -> Any:
    value = json.dumps({"change": change, "partitions": 2})
    return s.operation("alter", process=30, partition=None, at=at, type=kind, value=value)


def added_by_a_fault(s: Any, before: int = 1, *, event: str = "a", at: Span = (40, 45)) -> Any:
    for stage in ("inject", "heal"):
        evidence = {"topic": "t", "before": before, "partitions": 2} if stage == "inject" else {}
        value = {
            "event": event,
            "stage": stage,
            "target": "t",
            "nodes": [],
            "effective": True,
            "evidence": evidence,
        }
        s.operation(
            "add-partitions",
            process=NEMESIS,
            type="info",
            topic=None,
            partition=None,
            at=at,
            value=json.dumps(value),
        )
    return s


def reading(s: Any) -> Any:
    """The group reads partition 0 from 20 ns on."""
    return polled(member(log(s, 1), 5, "assigned", (10, 20), start=0, policy="latest"), 5, range(1), (21, 30))


def written(
    s: Any, *, at: Span = (50, 55), first_at: Span | None = None, start: int = 0, kind: str = "ok",
    is_located: bool = True, again: int | None = None,
) -> Any:  # fmt: skip
    """To the new partition; its final read finds what was acknowledged. is_located: whether acknowledgements have
    offsets. again: the offset of a record that lies at offset 3, too."""
    for offset in range(3):
        time = first_at if offset == 0 and first_at is not None else at
        s.send(NEW + offset, offset if is_located else None, partition=1, at=time, type=kind)
    found = {offset: NEW + offset for offset in range(start, 3)} | ({} if again is None else {3: NEW + again})
    now, s.now = s.now, 9_500
    s.final(found, start=start, end=max(found) + 1, partition=1, process=98)
    s.now = now
    return s


def began(
    s: Any,
    start: int | None,
    *,
    policy: str | None = "latest",
    process: int = 5,
    at: Span = (70, 80),
    group: str = "g",
    offsets: range = range(2, 3),
) -> Any:
    """A member is assigned the new partition, and polls what is left of it: without a start, these offsets."""
    member(s, process, "assigned", at, generation=2, start=start, partition=1, policy=policy, group=group)
    for offset in offsets if start is None else range(start, 3):
        s.poll(NEW + offset, offset, partition=1, process=process, at=(90, 95), generation=2)
    return s


def skipped_at_the_beginning(s: Any) -> Any:
    return began(written(reading(created(s))), 2)


def goes_on(s: Any, at: Span) -> Any:
    """Partition 0 acknowledges a send after the faults."""
    s.send(4 << 40, 1, at=at)
    s.now = 9_700
    return s.final({0: ONE, 1: 4 << 40}, end=2, process=97)


def skipped_all(s: Any) -> Any:
    return goes_on(began(written(added_by_a_fault(reading(s))), 3), (56, 57))


def skipped_after_an_administrator_added_it(s: Any) -> Any:
    return began(written(altered(reading(s))), 2)


def skipped_after_an_unanswered_request(s: Any) -> Any:
    """The settings of the member are not recorded, and where it started only by its polls."""
    return began(written(altered(reading(s), kind="info")), None, policy=None)


def skipped_in_an_altered_topic_of_known_size(s: Any) -> Any:
    return began(written(altered(reading(created(s)), (60, 61))), 2)


def started_at_the_first_record(s: Any) -> Any:
    return began(written(reading(created(s))), 0)


def started_with_earliest(s: Any) -> Any:
    """That is an ordinary skip."""
    return began(written(reading(created(s))), 2, policy="earliest")


def polled_by_another_member_later(s: Any) -> Any:
    began(written(reading(created(s))), 2)
    for offset in range(2):
        s.poll(NEW + offset, offset, partition=1, process=6, at=(96, 99), generation=3)
    return member(s, 6, "joined", (94, 95), generation=3, partition=None)


def not_added(s: Any) -> Any:
    """The topic had both partitions from the beginning, and the group started with one of them."""
    return began(written(reading(created(s, 2))), 2)


def of_unknown_size(s: Any) -> Any:
    return began(written(reading(created(s, None))), 2)


def not_added_by_a_fault(s: Any) -> Any:
    return began(written(added_by_a_fault(reading(s), before=2)), 2)


def written_to_before_an_administrator_added_more(s: Any) -> Any:
    return began(written(altered(reading(s), (51, 60))), 2)


def refused_to_add(s: Any) -> Any:
    return began(written(altered(reading(s), kind="fail")), 2)


def changed_something_else(s: Any) -> Any:
    return began(written(altered(reading(s), change="config")), 2)


def written_before_the_group_read_the_topic(s: Any) -> Any:
    """It was sent in the nanosecond in which the first assignment was complete."""
    return began(written(reading(created(s)), at=(20, 25)), 2)


def read_by_another_group_only(s: Any) -> Any:
    """The group that starts with the new partition did not read the topic before."""
    return began(written(reading(created(s))), 2, process=7, group="h")


def committed_before(s: Any) -> Any:
    """The position was a committed one."""
    written(reading(created(s)))
    return began(commit(s, 5, 2, (66, 69), partition=1), 2)


def committed_in_another_partition_before_it_was_assigned(s: Any) -> Any:
    """The group read the topic from then on all the same."""
    commit(s, 7, 0, (2, 5))
    return began(written(reading(created(s))), 2)


def assigned_again_after_the_records_were_sent(s: Any) -> Any:
    """The group had read the other partition before."""
    written(reading(created(s)))
    return began(member(s, 5, "assigned", (57, 60), generation=2, start=1, policy="latest"), 2)


def failed_to_commit_before(s: Any) -> Any:
    written(reading(created(s)))
    return began(commit(s, 5, 2, (66, 69), partition=1, kind="fail"), 2)


def committed_when_it_started(s: Any) -> Any:
    """The commit was invoked in the nanosecond in which the assignment was complete, and may have come before it."""
    written(reading(created(s)))
    return began(commit(s, 5, 2, (80, 85), partition=1), 2)


def added_and_of_unknown_outcome(s: Any) -> Any:
    return began(written(reading(created(s)), kind="info"), 2)


def removed_before_the_group_started(s: Any) -> Any:
    return began(written(reading(created(s)), start=2), 2)


def skipped_records_of_unknown_offsets(s: Any) -> Any:
    """Only readers show where they lie."""
    return began(written(reading(created(s)), is_located=False), 2)


def skipped_a_record_that_lies_behind_the_start_too(s: Any) -> Any:
    return began(written(reading(created(s)), again=1), 2)


def skipped_what_a_reader_waited_for(s: Any) -> Any:
    """The poll of another reader began before the group read the topic, and returned a record that was sent later."""
    written(reading(created(s))).poll(NEW, 0, partition=1, process=9, at=(15, 60))
    return began(s, 2)


def skipped_in_a_topic_that_grew_twice(s: Any) -> Any:
    """It had one partition at first."""
    added_by_a_fault(added_by_a_fault(reading(s)), 2, event="b", at=(46, 48))
    return goes_on(began(written(s), 2), (56, 57))


def skipped_in_a_topic_that_an_administrator_altered_twice(s: Any) -> Any:
    return began(written(altered(altered(reading(s)), (60, 65))), 2)


def written_to_before_and_after_an_administrator_added_more(s: Any) -> Any:
    return began(written(altered(reading(s)), first_at=(35, 39)), 2)


def not_added_by_a_fault_that_deleted_records(s: Any) -> Any:
    """Its evidence has an offset by the same name."""
    fault(reading(created(s, 2)), "delete-records", topic="t", partition=0, before=1)
    return began(written(s), 2)


def skipped_what_no_final_read_found(s: Any) -> Any:
    """Another reader got these records. Nobody got the last one, of which it is unknown what became."""
    reading(created(s))
    for offset in range(4):
        s.send(NEW + offset, offset, partition=1, at=(50, 55))
    for offset in range(3):
        s.poll(NEW + offset, offset, partition=1, process=9, at=(56, 60))
    return began(s, 2)


def skipped_and_got_nothing(s: Any) -> Any:
    """The record at its position is not left out."""
    return member(
        written(reading(created(s))),
        5,
        "assigned",
        (70, 80),
        generation=2,
        start=2,
        partition=1,
        policy="latest",
    )


def skipped_before_its_first_poll(s: Any) -> Any:
    """Where the member started is not recorded. It polled the second and the third record."""
    return began(written(reading(created(s))), None, offsets=range(1, 3))


def read_another_topic_only(s: Any) -> Any:
    """The group read no other partition of the topic before."""
    member(created(s), 5, "assigned", (10, 20), start=0, policy="latest")
    s.operations[-1]["topic"] = "u"
    return began(written(s), 2)


def committed_before_and_later(s: Any) -> Any:
    written(reading(created(s)))
    return began(commit(commit(s, 5, 2, (66, 69), partition=1), 5, 3, (96, 99), partition=1), 2)


def read_on_by_a_reader_in_another_assignment(s: Any) -> Any:
    """It goes on where it was, and reads the new partition from its first record."""
    reading(added_by_a_fault(s)).poll(ONE, 0, process=9, at=(25, 30))
    goes_on(written(s), (56, 57)).poll(4 << 40, 1, process=9, assignment=1, at=(60, 65))
    for offset in range(3):
        s.poll(NEW + offset, offset, partition=1, process=9, assignment=1, at=(60, 65))
    return s


def queued_in_a_new_partition(
    s: Any, position: int, *, at: Span = (60, 65), partitions: int = 1, about: Any = None
) -> Any:
    """A share group got the records of partition 0 by 30 ns, and accepts those of partition 1 from `position` on."""
    created(s, partitions), took(fed(s), 0, 1, 2, 3)
    for offset in range(3):
        s.send(NEW + offset, offset, partition=1, at=at)
    s.final({offset: NEW + offset for offset in range(3)}, end=3, partition=1, process=98)
    for offset in range(position, 3):
        got(s, offset, 300 + offset, (70, 75), partition=1)
        s.operation(
            "acknowledgement", op=400 + offset, process=5, at=(80, 85), start_offset=offset, partition=1, group="q",
            value=json.dumps({"delivery": 300 + offset, "kind": "accept"}),
        )  # fmt: skip
    return ended(ended(s), 3, partition=1, about={"began": position} if about is None else about)


def left_out_by_a_share_group(s: Any) -> Any:
    return queued_in_a_new_partition(s, 2)


def left_out_by_a_share_group_with_latest(s: Any) -> Any:
    return queued_in_a_new_partition(s, 2, about={"policy": "latest"})


def left_out_whole_by_a_share_group_with_latest(s: Any) -> Any:
    """Its start lies behind all of them."""
    return queued_in_a_new_partition(s, 3, about={"policy": "latest"})


def left_out_by_a_share_group_with_earliest(s: Any) -> Any:
    return queued_in_a_new_partition(s, 2, about={"policy": "earliest"})


def deleted_before_a_share_group_with_latest_got_anything(s: Any) -> Any:
    """The final read begins where the group began."""
    queued_in_a_new_partition(s, 2, about={"policy": "latest"})
    (read,) = (each for each in s.operations if each["f"] == "final-read" and each["partition"] == 1)
    read["start_offset"] = 2
    s.records = [
        each
        for each in s.records
        if not (each["partition"] == 1 and each.get("final") and each["offset"] < 2)
    ]
    return fault(s, "delete-records", topic="t", partition=1, before=2)


def left_out_by_a_share_group_whose_progress_is_unknown(s: Any) -> Any:
    queued_in_a_new_partition(s, 2, about={"policy": "latest"})
    s.operations[-1] |= {"type": "info", "end_offset": None}
    return s


def left_out_before_the_share_group_got_anything(s: Any) -> Any:
    return queued_in_a_new_partition(s, 2, at=(30, 35))


def left_out_after_the_share_group_subscribed(s: Any) -> Any:
    """It had not got anything."""
    s.operation("subscribe", process=5, partition=None, at=(10, 12), group="q", value="{}")
    return queued_in_a_new_partition(s, 2, at=(25, 28))


def left_out_of_a_partition_that_was_not_added(s: Any) -> Any:
    return queued_in_a_new_partition(s, 2, partitions=2)


def begun_by_a_share_group_at_the_first_record(s: Any) -> Any:
    return queued_in_a_new_partition(s, 0)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    skipped_at_the_beginning: {"added-partition-skip": 2},
    skipped_all: {"added-partition-skip": 3},
    skipped_after_an_administrator_added_it: {"added-partition-skip": 2},
    skipped_after_an_unanswered_request: {"added-partition-skip": 2},
    skipped_in_an_altered_topic_of_known_size: {"added-partition-skip": 2},
    started_at_the_first_record: {},
    started_with_earliest: {"group-skip": 2},
    polled_by_another_member_later: {},
    not_added: {},
    of_unknown_size: {},
    not_added_by_a_fault: {},
    written_to_before_an_administrator_added_more: {},
    refused_to_add: {},
    changed_something_else: {},
    written_before_the_group_read_the_topic: {},
    read_by_another_group_only: {},
    committed_before: {},
    committed_in_another_partition_before_it_was_assigned: {"added-partition-skip": 2},
    assigned_again_after_the_records_were_sent: {"added-partition-skip": 2},
    failed_to_commit_before: {"added-partition-skip": 2},
    committed_when_it_started: {},
    added_and_of_unknown_outcome: {},
    removed_before_the_group_started: {"lost-write": 2},
    skipped_records_of_unknown_offsets: {"added-partition-skip": 2},
    skipped_a_record_that_lies_behind_the_start_too: {"added-partition-skip": 2, "duplicate": 1},
    skipped_what_a_reader_waited_for: {"added-partition-skip": 2},
    skipped_in_a_topic_that_grew_twice: {"added-partition-skip": 2},
    skipped_in_a_topic_that_an_administrator_altered_twice: {"added-partition-skip": 2},
    written_to_before_and_after_an_administrator_added_more: {},
    not_added_by_a_fault_that_deleted_records: {},
    skipped_what_no_final_read_found: {"added-partition-skip": 2, "unseen": 1},
    skipped_and_got_nothing: {"added-partition-skip": 2},
    skipped_before_its_first_poll: {"added-partition-skip": 1},
    read_another_topic_only: {},
    committed_before_and_later: {},
    read_on_by_a_reader_in_another_assignment: {},
    left_out_by_a_share_group: {"added-queue-skip": 2},
    left_out_by_a_share_group_with_latest: {"added-queue-skip": 2},
    left_out_whole_by_a_share_group_with_latest: {"added-queue-skip": 3},
    left_out_by_a_share_group_with_earliest: {"queue-lost": 2},
    left_out_by_a_share_group_whose_progress_is_unknown: {"added-queue-skip": 2},
    deleted_before_a_share_group_with_latest_got_anything: {"expired": 2},
    left_out_before_the_share_group_got_anything: {},
    left_out_after_the_share_group_subscribed: {},
    left_out_of_a_partition_that_was_not_added: {},
    begun_by_a_share_group_at_the_first_record: {},
}
