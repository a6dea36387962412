"""Which segments of a node are copied, to compare its replicas with those of other nodes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, TypeVar

K = TypeVar("K", bound=Any)

MOST = 1 << 30
"""Bytes that are copied of one node: more would take longer than people wait for the end of a run."""


def fitting(sizes: Mapping[K, int], most: int) -> list[K]:
    """Names of the smallest ones that have `most` bytes or fewer together."""
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    totals = accumulate(sizes[name] for name in names)
    return [name for name, total in zip(names, totals, strict=True) if total <= most]


def too_large(size: int, most: int) -> OSError:
    """For a partition that `fitting` has left out."""
    return OSError(
        f"its segments have {size >> 20:,} MiB, and at most {most >> 20:,} MiB of a broker are compared, "
        "those of the smallest partitions first"
    )
