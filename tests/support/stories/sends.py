"""Histories in which acknowledged sends lie in the wrong order, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
TWO = 2 << 40


def keyed_sends_went_back(s: Any) -> Any:
    s.send(ONE, 2, key=4, at=(0, 20)).send(ONE + 1, 0, key=5, at=(1, 21)).send(ONE + 2, 1, key=4, at=(2, 22))
    return s.final({0: ONE + 1, 1: ONE + 2, 2: ONE}, end=3)


def keyed_sends_went_back_inside_a_transaction(s: Any) -> Any:
    in_it: dict[str, Any] = {"transaction": 7}
    s.send(ONE, 2, key=4, at=(0, 20), **in_it).send(ONE + 1, 0, key=5, at=(1, 21))
    s.send(ONE + 2, 1, key=4, at=(2, 22), **in_it)
    return s.final({0: ONE + 1, 1: ONE + 2, 2: ONE}, end=3)


def sent_out_of_order(s: Any) -> Any:
    """Both sends are in flight at the same time."""
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


def transactions_interleave_where_the_log_begins(s: Any) -> Any:
    """The record between them is gone at the end."""
    s.send(ONE, 0, transaction=7, at=(0, 30)).send(TWO, 1, at=(0, 30))
    s.send(ONE + 1, 2, transaction=7, at=(1, 31))
    return s.final({2: ONE + 1}, start=2, end=3)


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
    """The write that overtakes is not adjacent in the log."""
    s.send(ONE, 2, at=(0, 10)).send(TWO, 1, at=(5, 30)).send(3 << 40, 0, at=(11, 40))
    return s.final({0: 3 << 40, 1: TWO, 2: ONE}, end=3)


def overtaken_with_unknown_outcome(s: Any) -> Any:
    """Only a reader knows the offset of the second send, which is sent after the acknowledgement of the first."""
    s.send(ONE, 2, at=(0, 10)).send(TWO, None, at=(11, 30), type="info")
    return s.send(3 << 40, 0, at=(11, 12), partition=1).poll(TWO, 1).final({1: TWO, 2: ONE}, end=3)


def concurrent_with_unknown_outcome(s: Any) -> Any:
    s.send(ONE, 1, at=(0, 10)).send(TWO, None, at=(10, 20), type="info")
    return s.final({0: TWO, 1: ONE}, end=2)


def concurrent(s: Any) -> Any:
    """The first send is acknowledged at the same nanosecond at which the second begins."""
    return s.send(ONE, 1, at=(0, 10)).send(TWO, 0, at=(10, 20)).final({0: TWO, 1: ONE}, end=2)


def two_partitions(s: Any) -> Any:
    s.send(ONE, 1, at=(0, 10)).send(TWO, 0, partition=1)
    return s.final({1: ONE}, end=2).final({0: TWO}, end=1, partition=1)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    keyed_sends_went_back: {"nonmonotonic-send": 2},
    keyed_sends_went_back_inside_a_transaction: {"nonmonotonic-send": 1, "int-nonmonotonic-send": 1},
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
    transactions_interleave_where_the_log_begins: {"int-send-skip": 1, "expired": 2},
    transactions_interleave_unread: {"int-send-skip": 1, "unseen": 3},
    a_marker_lies_between_transactions: {},
    others_write_between_transactions: {},
    overtaken: {"realtime-order": 1},
    overtaken_with_unknown_outcome: {"overtaken-write": 1, "unseen": 1},
    concurrent_with_unknown_outcome: {},
    concurrent: {},
    two_partitions: {},
}
