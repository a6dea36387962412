"""Histories in which acknowledged writes are lost, unread or expired, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
TWO = 2 << 40


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


def lost_although_the_final_client_polled_it_outside_its_final_read(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).final({}, end=2)
    return s.poll(ONE, 0, process=99, final=False).poll(ONE + 1, 1, process=99, final=True, type="info")


def lost_with_a_late_acknowledgement(s: Any) -> Any:
    """Acknowledged after the final read began, but below the end offset that the final read requested."""
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
    """Acknowledged after the final read had begun, beyond its end offset: the final read need not contain it."""
    return s.send(ONE, 0).final({0: ONE}, end=1).send(ONE + 1, 1)


def read_behind_the_final_read(s: Any) -> Any:
    return s.send(ONE, 0).final({0: ONE}, end=1).send(ONE + 1, 1).poll(ONE + 1, 1)


def expired(s: Any) -> Any:
    s.send(ONE, 0).send(ONE + 1, 1).send(ONE + 2, 2).send(ONE + 3, 3).poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({3: ONE + 3}, start=3, end=4)


def seen_by_an_info_poll_only(s: Any) -> Any:
    return s.send(ONE, 0).poll(ONE, 0, type="info")


def read_and_gone(s: Any) -> Any:
    """The producer got no answer, and a reader got the record."""
    s.send(ONE, 0).send(ONE + 1, None, type="info").send(TWO, None, type="info").poll(ONE + 1, 1).poll(TWO, 2)
    return s.final({0: ONE}, end=2)


def read_and_gone_at_the_end(s: Any) -> Any:
    """The log is shorter at the end. The second poll came too late for that to follow."""
    s.send(ONE, None, type="info").send(ONE + 1, None, type="info").poll(ONE, 5)
    s.operation("phase", value='{"phase": "final"}', topic=None, partition=None)
    return s.poll(ONE + 1, 6).final({}, end=0)


def read_below_the_end_and_gone(s: Any) -> Any:
    """It was polled after the end was requested, at an offset below the end."""
    s.send(ONE, None, type="info").send(ONE + 1, None, type="info").final({}, end=1)
    return s.poll(ONE, 0).poll(ONE + 1, 1)


def acknowledged_late_read_and_gone(s: Any) -> Any:
    """The acknowledgement came after the final read, so that it does not oblige the final read."""
    s.poll(ONE, 3, at=(2, 3)).final({}, end=0)
    return s.send(ONE, None, at=(1, 90))


def read_and_removed_at_the_log_start(s: Any) -> Any:
    s.send(ONE, None, type="info").send(ONE + 1, None, type="info").poll(ONE, 0).poll(ONE + 1, 1)
    return s.final({}, start=1, end=2)


def read_of_transactions_of_unknown_outcome(s: Any) -> Any:
    """Without isolation, a reader also gets what is aborted later."""
    s.send(ONE, None, type="info", transaction=7).send(ONE + 1, None, type="info", transaction=7)
    s.send(ONE + 2, None, type="fail", transaction=8).poll(ONE, 0).poll(ONE + 1, 1, committed=True)
    return s.poll(ONE + 2, 2).final({}, end=3, committed=True)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    clean: {},
    lost_in_the_middle: {"lost-write": 1},
    read_and_gone: {"lost-read": 2},
    read_and_gone_at_the_end: {"lost-read": 1},
    read_below_the_end_and_gone: {"lost-read": 1},
    acknowledged_late_read_and_gone: {"lost-read": 1},
    read_and_removed_at_the_log_start: {"lost-read": 1},
    read_of_transactions_of_unknown_outcome: {"lost-read": 1},
    lost_although_read_before: {"lost-write": 1},
    lost_and_replaced: {"lost-write": 1, "inconsistent-offsets": 1},
    lost_although_an_earlier_final_read_had_it: {"lost-write": 1},
    lost_although_another_final_read_had_it: {"lost-write": 1},
    lost_although_the_same_client_had_it_before: {"lost-write": 1},
    lost_although_the_final_client_polled_it_outside_its_final_read: {"lost-write": 2},
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
    seen_by_an_info_poll_only: {},
}
