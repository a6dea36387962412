"""The collected evidence from which causes are derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analyzers.history.fault_events import FaultEvent
from analyzers.history.relative_time import seconds


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The findings of one anomaly in one log. Times in ns."""

    anomaly: str
    topic: str | None
    """None for a finding that concerns no single log."""
    partition: int | None
    count: int
    first: int | None
    last: int | None
    low: int | None = None
    high: int | None = None
    """The lowest and the highest offset."""

    @property
    def log(self) -> str | None:
        return None if self.topic is None or self.partition is None else f"{self.topic}-{self.partition}"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A partition as one broker saw it. Times in ns."""

    time: int
    node: int
    leader: int
    """-1 for none."""
    epoch: int
    isr: tuple[int, ...] = ()
    high_watermark: int | None = None
    log_end: int | None = None

    @property
    def leads(self) -> bool:
        """Whether the broker regards itself as leader."""
        return self.leader == self.node


@dataclass(frozen=True, kw_only=True)
class Change:
    """Two successive samples of one broker: the leader, the epoch or the ISR changed, or the log became shorter."""

    before: Sample | None
    """None for the first sample of the broker."""
    after: Sample


@dataclass(frozen=True, kw_only=True)
class LogEvidence:
    """Of one log: its findings, and the changes of its replicas in order of time."""

    log: str
    extents: Sequence[Extent]
    changes: Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    began: int | None
    """ns, of the run's first operation."""
    extents: Sequence[Extent]
    changes: dict[str, list[Change]]
    """By log, in order of time."""
    events: Sequence[FaultEvent]
    clients: Mapping[int, str] = field(default_factory=dict)
    """Names of client processes."""

    def at(self, time: int | None) -> float | None:
        """s since the run's first operation."""
        return seconds(time, self.began)

    def active(self, first: int | None, last: int | None) -> list[FaultEvent]:
        """The faults that may have been active at some time between."""
        if first is None:
            return []
        end = first if last is None else last
        return [
            event
            for event in self.events
            if event.began is not None
            and event.began <= end
            and (event.ended is None or event.ended >= first)
        ]
