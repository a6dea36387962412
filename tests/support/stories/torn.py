"""Histories with readers that pass a part of a transaction, or get it too early, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import member, polled
from tests.support.stories.transactions import ONE, READ, TWO, A, two_parts, txn

WHOLE = {0: ONE, 1: ONE + 1, 2: TWO}
OWN = 20 << 40
"""A value of process 20."""


def followed(s: Any, *, kind: str = "ok") -> Any:
    """A transaction of two records, and one of another producer behind them."""
    return two_parts(s, kind=kind).send(TWO, 2, process=2)


def torn_by_a_reader_of_which_nothing_says_that_it_is_final(s: Any) -> Any:
    followed(s).poll(ONE, 0, **READ | {"final": None}).poll(TWO, 2, **READ | {"final": None})
    return s.final(WHOLE, end=3, **READ)


def torn_by_a_read(s: Any) -> Any:
    """No record behind the missing one was polled. The reader writes, too, to another partition."""
    followed(s).send(OWN, 0, partition=1).poll(ONE, 0, process=20, **READ)
    s.operation("read", process=20, start_offset=0, end_offset=3)
    return s.final(WHOLE, end=3, **READ).final({0: OWN}, end=1, partition=1, process=98, **READ)


def torn_within_a_poll(s: Any) -> Any:
    """The same poll returned a record before the missing one, and one behind it."""
    followed(s).poll(ONE, 0, op=900, process=20, **READ).poll(TWO, 2, op=900, process=20, **READ)
    return s.final(WHOLE, end=3, **READ)


def read_that_did_not_complete(s: Any) -> Any:
    """Nothing shows how far it got."""
    followed(s).poll(ONE, 0, process=20, **READ)
    s.operation("read", process=20, type="info", start_offset=0, end_offset=3)
    return s.final(WHOLE, end=3, **READ)


def torn_by_a_final_read_that_did_not_complete(s: Any) -> Any:
    """It got a record behind the missing one, which nobody got at all: that is a lost write, too."""
    followed(s).poll(ONE, 0, process=99, final=True, **READ).poll(TWO, 2, process=99, final=True, **READ)
    return s.operation("final-read", process=99, type="info", start_offset=0, end_offset=3)


def passed_by_readers_that_changed_their_isolation(s: Any) -> Any:
    """In one assignment, to another isolation or to one that is not recorded, and between two. It is not known which
    isolation passed the second record."""
    followed(s)
    for process, committed in ((21, False), (22, None)):
        s.poll(ONE, 0, process=process, **READ).poll(TWO, 2, process=process, committed=committed)
    s.poll(ONE, 0, process=20, **READ).poll(TWO, 2, process=20, assignment=2, committed=False)
    s.operation("read", process=20, start_offset=0, end_offset=3)
    return s.final(WHOLE, end=3, **READ)


def poll_of_an_open_transaction_that_never_ended(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(70, None), type="info", **READ)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def read_before_the_last_send_of_a_transaction_whose_client_died(s: Any) -> Any:
    """Nobody knows whether it requested the end. Before its last send, it had not."""
    s.send(ONE, 0, at=(10, None), transaction=A, type="info").send(
        ONE + 1, 1, at=(20, None), transaction=A, type="info"
    )
    txn(s, A, (5, None), kind="info")
    return s.poll(ONE, 0, at=(15, 19), **READ).final({0: ONE, 1: ONE + 1}, end=2, **READ)


def read_at_the_last_send_of_a_transaction_whose_client_died(s: Any) -> Any:
    s.send(ONE, 0, at=(10, None), transaction=A, type="info").send(
        ONE + 1, 1, at=(20, None), transaction=A, type="info"
    )
    txn(s, A, (5, None), kind="info")
    return s.poll(ONE, 0, at=(15, 20), **READ).final({0: ONE, 1: ONE + 1}, end=2, **READ)


def never_requested(s: Any, requested: str) -> Any:
    """The program that recorded the history says so, or says that the end was requested."""
    s.send(ONE, 0, at=(10, None), transaction=A, type="info")
    value = f'{{"transactional_id": "x", "outcome": "commit", "requested": {requested}}}'
    s.operation("txn", op=A, process=1, at=(5, None), type="info", value=value, topic=None, partition=None)
    return s.final({0: ONE}, end=1, **READ)


def read_although_the_end_was_never_requested(s: Any) -> Any:
    return never_requested(s, "false")


def read_after_an_end_that_is_not_timed(s: Any) -> Any:
    return never_requested(s, "true")


def fetched_before_the_end(s: Any) -> Any:
    """The poll that returned it is not known to have completed."""
    two_parts(s).poll(ONE, 0, at=(70, None), type="info", fetched=79, **READ)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def fetched_at_the_end(s: Any) -> Any:
    two_parts(s).poll(ONE, 0, at=(70, None), type="info", fetched=80, **READ)
    return s.final({0: ONE, 1: ONE + 1}, end=3, **READ)


def read_by_members(s: Any, *events: str, partition: int = 0) -> Any:
    """Member 20 gets the first record in generation 1, and the one behind the transaction in generation 3. The events
    are those of member 20 in between; member 21 gets the second record."""
    followed(s)
    member(s, 20, "assigned", (91, 92), generation=1, start=0)
    polled(s, 20, range(1), (93, 94), generation=1, **READ)
    for number, event in enumerate(events):
        at, of = 100 + 10 * number, None if event in ("left", "fenced", "joined") else partition
        generation = 3 if event == "assigned" else 1
        member(s, 20, event, (at, at + 1), generation=generation, start=2, partition=of)
    polled(
        member(s, 21, "assigned", (150, 151), generation=2, start=0),
        21,
        range(2),
        (152, 153),
        generation=2,
        **READ,
    )
    s.poll(TWO, 2, process=20, at=(200, 201), generation=3, **READ)
    return s.final(WHOLE, end=3, **READ)


def given_back_and_got_again(s: Any) -> Any:
    return read_by_members(s, "revoked", "assigned")


def lost_and_got_again(s: Any) -> Any:
    return read_by_members(s, "lost", "assigned")


def got_again_without_a_word_of_the_loss(s: Any) -> Any:
    return read_by_members(s, "assigned")


def got_again_in_an_unknown_generation(s: Any) -> Any:
    """The end of the first reading is recorded, and not when the second one began."""
    return read_by_members(s, "revoked")


def fenced_between_two_readings(s: Any) -> Any:
    return read_by_members(s, "fenced")


def torn_in_a_partition_that_was_kept(s: Any) -> Any:
    return read_by_members(s, "joined")


def torn_while_another_partition_came_and_went(s: Any) -> Any:
    return read_by_members(s, "revoked", "assigned", partition=1)


def given_up_in_the_nanosecond_of_a_poll(s: Any) -> Any:
    """The poll may be that of the next reading."""
    return member(read_by_members(s), 20, "revoked", (201, 202), generation=3)


def given_up_after_a_poll(s: Any) -> Any:
    return member(read_by_members(s), 20, "revoked", (202, 203), generation=3)


def read_in_generations_of_which_nothing_is_recorded(s: Any) -> Any:
    """Nobody knows whether the member kept the partition."""
    followed(s)
    polled(s, 20, range(1), (93, 94), generation=1, **READ)
    s.poll(TWO, 2, process=20, at=(200, 201), generation=3, **READ)
    return s.final(WHOLE, end=3, **READ)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    torn_by_a_reader_of_which_nothing_says_that_it_is_final: {"torn-transaction": 1, "poll-skip": 1},
    torn_by_a_read: {"torn-transaction": 1},
    torn_within_a_poll: {"torn-transaction": 1, "int-poll-skip": 1},
    read_that_did_not_complete: {},
    torn_by_a_final_read_that_did_not_complete: {"torn-transaction": 1, "lost-write": 1},
    passed_by_readers_that_changed_their_isolation: {"poll-skip": 2},
    poll_of_an_open_transaction_that_never_ended: {},
    read_before_the_last_send_of_a_transaction_whose_client_died: {"precommitted-read": 1},
    read_at_the_last_send_of_a_transaction_whose_client_died: {},
    read_although_the_end_was_never_requested: {"precommitted-read": 1},
    read_after_an_end_that_is_not_timed: {},
    fetched_before_the_end: {"precommitted-read": 1},
    fetched_at_the_end: {},
    given_back_and_got_again: {},
    lost_and_got_again: {},
    got_again_without_a_word_of_the_loss: {},
    got_again_in_an_unknown_generation: {},
    fenced_between_two_readings: {},
    given_up_in_the_nanosecond_of_a_poll: {},
    given_up_after_a_poll: {"torn-transaction": 1, "poll-skip": 1},
    torn_in_a_partition_that_was_kept: {"torn-transaction": 1, "poll-skip": 1},
    torn_while_another_partition_came_and_went: {"torn-transaction": 1, "poll-skip": 1},
    read_in_generations_of_which_nothing_is_recorded: {},
}
