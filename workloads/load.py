"""How much a workload asks of a cluster: rates by phase, sizes of records, and how uneven the load is.

They are values of a workload's fields, which `workloads.values` checks; the worker processes draw from them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat

from workloads.clients.protocol import Log

PHASES = ("start", "steady", "recovery")
"""Of a run: until the load is on and the warm-up is over; with the faults; after the last one has healed."""

Rate = float | None | Mapping[str, float | None]
"""Records per second, None for no limit; or that by phase: one that is not named has the rate of the one before."""

Sizes = int | Sequence[int] | Mapping[int, float]
"""Bytes of a record's value at least: one number; the least and the most of a uniform distribution; or sizes with
their weights."""


def rates_by_phase(rate: Rate) -> dict[str, float | None]:
    """The rate in each phase. Before the first one that is named, it is that one's."""
    if not isinstance(rate, Mapping):
        return dict.fromkeys(PHASES, rate)
    found: dict[str, float | None] = {}
    last = next((rate[phase] for phase in PHASES if phase in rate), None)
    for phase in PHASES:
        found[phase] = last = rate.get(phase, last)
    return found


def highest(rate: Rate) -> float | None:
    """The highest rate of all phases; None if one has no limit."""
    rates = [*rates_by_phase(rate).values()]
    limited = [each for each in rates if each is not None]
    return max(limited) if len(limited) == len(rates) else None


def largest(sizes: Sizes) -> int:
    """Bytes."""
    return sizes if isinstance(sizes, int) else max(map(int, sizes))


def drawn_sizes(sizes: Sizes, choice: random.Random) -> Iterator[int]:
    """Sizes of records, without an end."""
    if isinstance(sizes, int):
        return repeat(sizes)
    if isinstance(sizes, Mapping):
        # In JSON, keys are text.
        values, weights = [int(size) for size in sizes], [*sizes.values()]
        return chain.from_iterable(choice.choices(values, weights, k=100) for _ in repeat(None))
    least, most = sizes
    return (choice.randint(least, most) for _ in repeat(None))


def shares(count: int, skew: float) -> list[float]:
    """Of `count` partitions or keys, cumulated: number n has 1 / (n + 1) ** skew (Zipf)."""
    return [*accumulate((number + 1) ** -skew for number in range(count))]


def in_turn(logs: Callable[[], Sequence[Log]]) -> Iterator[Log]:
    """Each of them, over and over. They are asked for anew in each turn, because partitions may be added."""
    while True:
        yield from logs()


def drawn_logs(logs: Callable[[], Sequence[Log]], skew: float, choice: random.Random) -> Iterator[Log]:
    """Logs to send to, without an end: in turn without a skew, otherwise at random, 100 at a time."""
    if not skew:
        return in_turn(logs)
    return in_turn(lambda: _chosen(logs(), skew, choice))


def _chosen(logs: Sequence[Log], skew: float, choice: random.Random) -> Sequence[Log]:
    return choice.choices(logs, cum_weights=shares(len(logs), skew), k=100)
