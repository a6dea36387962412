"""How long changes of leaders took to reach all brokers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzers.verdict.numbers import require_numbers


@dataclass(frozen=True, kw_only=True)
class Propagation:
    """Of the leader epochs that began during the run: from the first answer of a broker that named the epoch, to the
    last first answer of a broker that named it or a later one.

    Times in s. Each is an upper bound, for brokers are asked five to twenty times a second. A broker that did not
    answer for 2 s before it named the epoch does not count: it was away.
    """

    changes: int
    """Leader epochs, each of one partition, that at least two brokers came to name."""
    open: int
    """Those of them that some broker which answered until the end had not named."""
    median: float | None = None
    """Of those that are not open, as the other times; None if all are."""
    percentile_90: float | None = None
    longest: float | None = None
    topic: str | None = None
    """Of the change that took longest, as the partition, the epoch and the broker that named it last."""
    partition: int | None = None
    leader_epoch: int | None = None
    node: int | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Propagation:
        """From the JSON object of a stored verdict. Raises TypeError for any other object."""
        found = cls(**data)
        require_numbers(
            "propagation", found.changes, found.open, found.median, found.percentile_90, found.longest,
            found.partition, found.leader_epoch, found.node,
        )  # fmt: skip
        return found
