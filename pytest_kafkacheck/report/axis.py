"""The time axis of all lanes: ms since the run's first operation, and buckets in which rows are counted."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

MOST_BUCKETS = 400
"""More would be narrower than a few pixels each."""

WIDTHS = tuple(step * 10**power for power in range(8) for step in (1, 2, 5))
"""ms."""

NANOSECONDS = 1_000_000
"""Per ms."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    began: int
    """Of the run's first operation, CLOCK_MONOTONIC in ns."""
    span: int
    """ms from there to the last known event."""
    step: int | None = None
    """Width of a bucket, ms; None: as `span` calls for."""

    @property
    def width(self) -> int:
        """Of a bucket, ms."""
        return self.step or next(width for width in WIDTHS if self.span / width <= MOST_BUCKETS)

    @property
    def buckets(self) -> int:
        return self.span // self.width + 1

    def at(self, time: int) -> int:
        """ms, from ns of the history; within the axis."""
        return min(max((time - self.began) // NANOSECONDS, 0), self.span)

    def bucket(self, times: pa.ChunkedArray, finer: int = 1) -> pa.ChunkedArray:
        """The bucket of each of these times (ns). finer: into how many each bucket is divided."""
        found = pc.divide(pc.subtract(times, self.began), self.width * NANOSECONDS // finer)
        return pc.min_element_wise(pc.max_element_wise(found, 0), self.buckets * finer - 1).cast(pa.int32())


def clock(ms: int | float | None) -> str:
    """``10.4 s``, as the story writes times."""
    return "?" if ms is None else f"{ms / 1000:,.1f} s"
