"""Times that are measured in a run: how long clients waited, how late sessions read their own writes, and how long
changes of leaders took to reach all brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class LogAvailability:
    """One topic-partition to which the run sent. Times in s."""

    topic: str
    partition: int
    longest_wait: float = 0.0
    """The longest time without an acknowledgement while clients sent to it. May be 0 for a wait below 0.1 s."""
    began: float | None = None
    """When the longest wait began, since the run's first operation; None if there was no wait."""
    recovery: float | None = None
    """From the last heal to the first acknowledgement of a send invoked after that heal; None if there is none."""


@dataclass(frozen=True, kw_only=True)
class Standstill:
    """The longest time for which an application of the user wrote no output of a partition of its source while inputs
    waited there. Times in s."""

    topic: str
    partition: int
    lasted: float
    began: float | None
    """Since the run's first operation."""
    by: Literal["outputs", "positions"]
    """What shows it: the timestamps of outputs or, where these are not the times at which they were written, the
    positions that its group had committed."""


@dataclass(frozen=True, kw_only=True)
class PhaseAvailability:
    """The sends invoked in one phase of a run.

    Latencies are those of acknowledged sends, in s, from when each was due, if it had a time. None without any.
    """

    phase: str
    sends: int
    errors: int
    """Sends that were not acknowledged."""
    latency_median: float | None = None
    latency_99: float | None = None
    latency_worst: float | None = None
    skipped: int | None = None
    """Further sends that the rate asked for in this phase, and that clients left out; None if not counted."""


@dataclass(frozen=True, kw_only=True)
class Availability:
    """Always reported; judged only if the experiment states a bound."""

    logs: tuple[LogAvailability, ...] = ()
    phases: tuple[PhaseAvailability, ...] = ()
    """In order of time; ``start`` is the time before the first recorded phase."""
    worst_lag: float | None = None
    """The longest time, in s, from the first acknowledgement of a record beyond a client's position to the next
    record that this client got. None if no client lagged, or if there were only final reads."""
    standstill: Standstill | None = None
    """None without an application, and for one that never let an input wait."""


NOT_MEASURED = Availability()


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
