"""How late sessions of a run read what they had written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzers.verdict.numbers import require_numbers


@dataclass(frozen=True, kw_only=True)
class Staleness:
    """Of the acknowledged writes of sessions: from the acknowledgement to when the session first polled the value.

    Times in s; 0 for a value that was polled before the acknowledgement arrived. None if none was polled.
    """

    writes: int
    """Acknowledged writes; without those that may have been removed from the beginning of the log."""
    reads: int
    """Those of them after which the session completed another read of the partition."""
    missed: int
    """Those of them that the first such read did not return."""
    unseen: int
    """Writes that the session never polled."""
    median: float | None = None
    percentile_90: float | None = None
    longest: float | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Staleness:
        """From the JSON object of a stored verdict. Raises TypeError for any other object."""
        found = cls(**data)
        require_numbers(
            "staleness", found.writes, found.reads, found.missed, found.unseen,
            found.median, found.percentile_90, found.longest,
        )  # fmt: skip
        return found
