"""The sends of one batch of kafka-python, which end together.

A callback for each record would take a tenth of the time that the library needs for the record.
"""

from __future__ import annotations

from typing import Any


class Batch:
    """produced: the library's future of the batch, which all of its records share."""

    __slots__ = ("futures", "ops", "produced")

    def __init__(self, produced: Any) -> None:
        self.produced = produced
        self.ops: list[int] = []
        """In the order of the records."""
        self.futures: list[Any] = []
        """The library's, of each record."""

    def add(self, op: int, future: Any) -> None:
        self.futures.append(future)
        self.ops.append(op)

    @property
    def is_split(self) -> bool:
        """Whether the library has made smaller ones of it, because a broker found it too large. Then it never ends,
        and its records do, each with one of those."""
        return self.produced._latch.is_set() and not self.produced.is_done
