"""Histories in which readers get records that were never sent, were aborted, or are damaged, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ONE = 1 << 40  # the values of process 1 start here
TWO = 2 << 40


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


def damaged(s: Any) -> Any:
    return s.send(ONE, 0).poll(None, 1, error="corrupt").final({0: ONE}, end=2)


def foreign_and_misrouted(s: Any) -> Any:
    s.send(ONE, 0).poll(None, 1, error="foreign").poll(None, 2, error="corrupt").poll(
        TWO, 3, error="misrouted"
    )
    return s.final({0: ONE}, end=4)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    phantom: {"phantom-read": 1},
    aborted: {"G1a": 1},
    aborted_transaction: {"G1a": 1},
    aborted_transaction_without_isolation: {},
    aborted_by_an_info_poll: {"G1a": 1},
    damaged: {"corrupt-record": 1},
    foreign_and_misrouted: {"foreign-record": 2, "corrupt-record": 1},
}
