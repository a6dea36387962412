"""Delta debugging: the parts that something needs, found by taking others away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(parts: Sequence[T], holds: Callable[[Sequence[T]], bool], *, nothing: bool = False) -> list[T]:
    """Parts, in their order, of which none can be left out alone. What `holds` says of all of them is taken for true.

    holds    asked for parts in their order; exceptions of its pass through.
    nothing  whether to ask for no part at all, too, when one is left.
    Earlier parts are believed to matter more: the first half is asked for first, the last ones are left out first.
    """
    left, pieces = list(parts), 2
    while len(left) > 1:
        cut = _cut(left, pieces)
        # Where no half is enough, no quarter is: finer pieces are only left out, never asked for alone.
        half = next((piece for piece in cut if holds(piece)), None) if len(cut) == 2 else None
        if half is not None:
            left, pieces = half, 2
            continue
        rests = ([*_flat(cut[:number]), *_flat(cut[number + 1 :])] for number in reversed(range(len(cut))))
        rest = next((rest for rest in rests if holds(rest)), None) if len(cut) > 2 else None
        if rest is not None:
            left, pieces = rest, max(len(cut) - 1, 2)
        elif len(cut) == len(left):
            break
        else:
            pieces = min(2 * len(cut), len(left))
    return [] if nothing and len(left) == 1 and holds([]) else left


def _cut(parts: list[T], pieces: int) -> list[list[T]]:
    ends = [round(number * len(parts) / pieces) for number in range(pieces + 1)]
    return [parts[begin:end] for begin, end in pairwise(ends) if begin < end]


def _flat(pieces: list[list[T]]) -> list[T]:
    return [part for piece in pieces for part in piece]
