"""Which rounds of a soak a process runs, where several of them share a soak."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True)
class Part:
    """The rounds of cluster `cluster` (from 1) of `of`. Of two clusters, the first has the rounds 1, 3, 5 and so on.

    What a round draws depends on its number, and not on how many clusters there are.
    """

    cluster: int = 1
    of: int = 1

    def has(self, number: int) -> bool:
        return (number - self.cluster) % self.of == 0

    def next(self, taken: Container[int]) -> int:
        """The lowest number of a round that is not taken."""
        return next(number for number in count(self.cluster, self.of) if number not in taken)


WHOLE = Part()
