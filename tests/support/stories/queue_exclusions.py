"""Histories with records that a share group never has to get, and near misses.

Such records are those of aborted transactions, and those below the offset at which the group began.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.stories.queues import ONE, ended, fed, got, said, took


def of_a_transaction(s: Any, outcome: str, *, committed: bool | None = None) -> Any:
    """The record at offset 3, which the group never got. outcome: of its send. committed: of the final read, which
    found it."""
    for offset in range(3):
        s.send(ONE + offset, offset, at=(offset + 1, offset + 2))
    s.send(ONE + 3, 3, at=(4, 5), type=outcome, transaction=101)
    value = {
        "transactional_id": "x",
        "epoch": 0,
        "outcome": "abort" if outcome == "fail" else "commit",
        "ending": 4,
    }
    kind = "info" if outcome == "info" else "ok"
    s.operation(
        "txn", op=101, process=1, at=(3, 5), type=kind, value=json.dumps(value), topic=None, partition=None
    )
    s.final({offset: ONE + offset for offset in range(4)}, end=4, committed=committed)
    return took(s, 0, 1, 2)


UNCOMMITTED = {"isolation": "read_uncommitted"}
COMMITTED = {"isolation": "read_committed"}


def aborted_and_never_delivered(s: Any) -> Any:
    return ended(of_a_transaction(s, "fail"), about=COMMITTED)


def aborted_and_never_delivered_with_unknown_isolation(s: Any) -> Any:
    return ended(of_a_transaction(s, "fail"))


def aborted_and_never_delivered_to_a_group_that_reads_uncommitted(s: Any) -> Any:
    return ended(of_a_transaction(s, "fail"), about=UNCOMMITTED)


def committed_and_never_delivered(s: Any) -> Any:
    return ended(of_a_transaction(s, "ok"), about=COMMITTED)


def of_unknown_outcome_and_never_delivered(s: Any) -> Any:
    return ended(of_a_transaction(s, "info", committed=False), about=COMMITTED)


def of_unknown_outcome_and_read_as_committed(s: Any) -> Any:
    return ended(of_a_transaction(s, "info", committed=True), about=COMMITTED)


def of_unknown_outcome_and_read_as_committed_once(s: Any) -> Any:
    """Another final read was not one of committed records only."""
    of_a_transaction(s, "info", committed=True)
    s.final({offset: ONE + offset for offset in range(4)}, end=4, process=98, committed=False)
    return ended(s, about=COMMITTED)


def aborted_and_not_reached(s: Any) -> Any:
    return ended(of_a_transaction(s, "fail"), 3, about=COMMITTED)


def sent_before_the_group_began(s: Any) -> Any:
    """The record at offset 1 is the last of these; the group did not get the first one from there on, either."""
    return ended(took(fed(s), 3), about={"began": 2})


def sent_before_a_group_with_latest_began(s: Any) -> Any:
    """It never got the last record. Brokers store where it began with the first acknowledgement that they confirm;
    one of another group says nothing."""
    said(got(fed(s), 0, 100), 0, 100, answer="info")
    said(got(s, 1, 101, group="p"), 1, 101, group="p")
    return ended(took(s, 2), about={"policy": "latest"})


def never_delivered_to_a_group_with_latest_that_had_begun(s: Any) -> Any:
    return ended(took(fed(s), 1, 3), about={"policy": "latest"})


def sent_before_a_group_with_latest_that_got_nothing(s: Any) -> Any:
    return ended(fed(s), 3, about={"policy": "latest"})


def sent_before_a_group_that_began_where_the_history_says(s: Any) -> Any:
    return ended(took(fed(s), 3), about={"policy": "latest", "began": 2})


def sent_before_the_group_began_and_not_reached(s: Any) -> Any:
    """Nobody knows yet what becomes of the last one; the first one is not for the group."""
    return ended(took(fed(s), 1, 2), 0, about={"began": 1})


PLANTED: Mapping[Callable[[Any], Any], dict[str, int]] = {
    aborted_and_never_delivered: {},
    aborted_and_never_delivered_with_unknown_isolation: {},
    aborted_and_never_delivered_to_a_group_that_reads_uncommitted: {"queue-lost": 1},
    committed_and_never_delivered: {"queue-lost": 1},
    of_unknown_outcome_and_never_delivered: {},
    of_unknown_outcome_and_read_as_committed: {"queue-lost": 1},
    of_unknown_outcome_and_read_as_committed_once: {"queue-lost": 1},
    aborted_and_not_reached: {},
    sent_before_the_group_began: {"queue-lost": 1},
    sent_before_a_group_with_latest_began: {"queue-lost": 1},
    never_delivered_to_a_group_with_latest_that_had_begun: {"queue-lost": 1},
    sent_before_a_group_with_latest_that_got_nothing: {"queue-unfinished": 1},
    sent_before_a_group_that_began_where_the_history_says: {"queue-lost": 1},
    sent_before_the_group_began_and_not_reached: {"queue-unfinished": 1},
}
