"""Histories in which polls go back or skip records, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
THREE = {0: ONE, 1: ONE + 1, 2: ONE + 2}


def three(s: Any, **more: Any) -> Any:
    return s.send(ONE, 0, **more).send(ONE + 1, 1, **more).send(ONE + 2, 2, **more)


def member(s: Any, event: str, generation: int, partition: int | None = 0) -> Any:
    value = f'{{"event": "{event}", "member": "m"}}'
    return s.operation("member", partition=partition, generation=generation, value=value)


def went_back(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1).poll(ONE, 0)
    return s.final({0: ONE, 1: ONE + 1}, end=2)


def went_back_in_a_poll_that_did_not_return(s: Any) -> Any:
    """The finding has the time at which the poll began."""
    s.send(ONE, 0).send(ONE + 1, 1).poll(ONE, 0).poll(ONE + 1, 1)
    s.poll(ONE, 0, at=(s.now + 1, None), type="info")
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


def keyed_records_went_back(s: Any) -> Any:
    """Offset 1 is above the poll before it, but below the poll before it with the same key."""
    three(s).poll(ONE + 2, 2, key=4).poll(ONE, 0, key=5).poll(ONE + 1, 1, key=4)
    return s.final(THREE, end=3)


def keyed_records_went_back_inside_a_poll(s: Any) -> Any:
    three(s).poll(ONE + 2, 2, key=4, op=5).poll(ONE, 0, key=5, op=6).poll(ONE + 1, 1, key=4, op=5)
    return s.final(THREE, end=3)


def keyed_records_of_several_clients(s: Any) -> Any:
    """The polls belong to different processes or assignments."""
    three(s).poll(ONE + 2, 2, key=4).poll(ONE, 0, key=4, process=11).poll(ONE + 1, 1, key=4, assignment=2)
    return s.final(THREE, end=3)


def kept_partition_went_back(s: Any) -> Any:
    """The member was assigned another partition, and kept this one."""
    member(three(s), "assigned", 1).poll(ONE, 0, generation=1).poll(ONE + 1, 1, generation=1)
    member(s, "assigned", 2, partition=1)
    member(s, "revoked", 2, partition=1)
    return s.poll(ONE + 1, 1, generation=2).poll(ONE + 2, 2, generation=2).final(THREE, end=3)


def kept_partition_was_skipped(s: Any) -> Any:
    member(three(s), "assigned", 1).poll(ONE, 0, generation=1)
    member(s, "joined", 2, partition=None)
    return s.poll(ONE + 2, 2, generation=2).final(THREE, end=3)


def kept_partition_goes_on(s: Any) -> Any:
    member(three(s), "assigned", 1).poll(ONE, 0, generation=1)
    s.poll(ONE + 1, 1, generation=1).poll(ONE + 2, 2, generation=4)
    return s.final(THREE, end=3)


def partition_was_assigned_anew(s: Any) -> Any:
    """It begins at the committed offset: before or beyond the last offset that this member polled."""
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
    """The fact `gaps` divides offsets into blocks of 64: 63 is the last of a block, 64 the first of the next."""
    s.send(ONE, 0).send(ONE + 1, 63).send(ONE + 2, 64).send(ONE + 3, 200)
    s.poll(ONE, 0).poll(ONE + 2, 64)
    s.poll(ONE + 1, 63, process=11).poll(ONE + 3, 200, process=11)
    return s.final({0: ONE, 63: ONE + 1, 64: ONE + 2, 200: ONE + 3}, end=201)


def skipped_a_hole(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1_000_000_000)
    return s.final({0: ONE, 1_000_000_000: ONE + 1}, end=1_000_000_001)


def skipped_an_aborted_record(s: Any) -> Any:
    """A read_committed reader does not get the aborted record."""
    s.send(ONE, 0).send(ONE + 1, 1, type="fail", transaction=7).send(ONE + 2, 2)
    s.poll(ONE, 0).poll(ONE + 1, 1).poll(ONE + 2, 2)
    return s.final({0: ONE, 2: ONE + 2}, end=3, committed=True)


def skipped_a_committed_record(s: Any) -> Any:
    three(s).poll(ONE, 0, committed=True).poll(ONE + 2, 2, committed=True)
    return s.final(THREE, end=3, committed=True)


def skipped_a_hole_inside_a_poll(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 5).poll(ONE, 0, op=5).poll(ONE + 1, 5, op=5)
    return s.final({0: ONE, 5: ONE + 1}, end=6)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    went_back: {"nonmonotonic-poll": 1},
    went_back_in_a_poll_that_did_not_return: {"nonmonotonic-poll": 1},
    stood_still: {"nonmonotonic-poll": 1},
    went_back_after_a_seek: {},
    went_back_inside_a_poll: {"int-nonmonotonic-poll": 1},
    stood_still_inside_a_poll: {"int-nonmonotonic-poll": 1},
    keyed_records_went_back: {"nonmonotonic-poll": 2},
    keyed_records_went_back_inside_a_poll: {"nonmonotonic-poll": 1, "int-nonmonotonic-poll": 1},
    keyed_records_of_several_clients: {},
    kept_partition_went_back: {"nonmonotonic-poll": 1},
    kept_partition_was_skipped: {"poll-skip": 1},
    kept_partition_goes_on: {},
    partition_was_assigned_anew: {},
    skipped: {"poll-skip": 1},
    skipped_inside_a_poll: {"int-poll-skip": 1},
    skipped_over_blocks: {"poll-skip": 2},
    skipped_a_hole: {},
    skipped_an_aborted_record: {},
    skipped_a_committed_record: {"poll-skip": 1},
    skipped_a_hole_inside_a_poll: {},
}
