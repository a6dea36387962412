"""Histories whose anomalies lie at the borders of what facts and the first look look at, and near misses.

The first look divides offsets into blocks of 16 and values into residues. The values here have residues that no other
planted history has, so that narrowing the analysis to some values has an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.transactions import ONE, READ, THREE, TWO, A, txn

FAR = ONE + 9_000


def overtaken_across_blocks(s: Any) -> Any:
    """No block holds both sends, and the block between them was acknowledged too late to have overtaken anything."""
    s.send(ONE, 40, at=(0, 10)).send(TWO, 20, at=(5, 50)).send(THREE, 0, at=(20, 30))
    return s.final({0: THREE, 20: TWO, 40: ONE}, end=41)


def lost_between_others_at_its_offset(s: Any) -> Any:
    """Of three values at one offset, the smallest and the largest are easily found; the one in the middle is not."""
    for sequence in (1, 2, 3):
        s.send(FAR + sequence, 0, process=sequence)
    return s.final({0: FAR + 3}, end=1)


def found_by_the_final_read_that_ended_last(s: Any) -> Any:
    """The other one began later and ended earlier, for example because it gave up a part of the log."""
    s.send(FAR + 5, 0, at=(0, 5)).poll(FAR + 5, 0, process=98, final=True, at=(90, 95))
    ends = {"start_offset": 0, "end_offset": 1}
    s.operation("final-read", process=98, at=(10, 100), **ends)
    return s.operation("final-read", process=99, at=(20, 50), **ends)


def lost_before_the_final_read_that_ended_last(s: Any) -> Any:
    """The other one found the record."""
    s.send(FAR + 7, 0, at=(0, 5)).poll(FAR + 7, 0, process=99, final=True, at=(45, 49))
    ends = {"start_offset": 0, "end_offset": 1}
    s.operation("final-read", process=98, at=(10, 100), **ends)
    return s.operation("final-read", process=99, at=(20, 50), **ends)


def transaction_up_to_the_end_of_a_read(s: Any) -> Any:
    """One read ends right before the second record; another one begins right behind the first."""
    s.send(ONE, 0, at=(10, 90), transaction=A).send(ONE + 1, 3, at=(20, 90), transaction=A)
    txn(s, A, (5, 90), ending=80).poll(ONE, 0, process=11, **READ)
    s.operation("read", process=11, start_offset=0, end_offset=3)
    s.poll(ONE + 1, 3, process=12, **READ).operation("read", process=12, start_offset=1, end_offset=4)
    return s.final({0: ONE, 3: ONE + 1}, end=4, **READ)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    overtaken_across_blocks: {"realtime-order": 1},
    lost_between_others_at_its_offset: {"lost-write": 2, "inconsistent-offsets": 1},
    found_by_the_final_read_that_ended_last: {},
    lost_before_the_final_read_that_ended_last: {"lost-write": 1},
    transaction_up_to_the_end_of_a_read: {},
}
