"""Delta debugging (ddmin of Zeller and Hildebrandt): find the parts that a property needs by removing others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(parts: Sequence[T], holds: Callable[[Sequence[T]], bool], *, nothing: bool = False) -> list[T]:
    """Parts, in their order, none of which can be removed alone. The property is assumed to hold for all parts
    together.

    holds    whether the property holds for some parts, which are given in their order. Passes on what it raises.
    nothing  whether to try no parts at all when one is left.
    Earlier parts are more likely to matter: the first half is tried first, and the last parts are removed first.
    """
    left, pieces = list(parts), 2
    while len(left) > 1:
        cut = _cut(left, pieces)
        # If no half is enough, no quarter is: smaller pieces are only removed, and not tried alone.
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
