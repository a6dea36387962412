"""The collected evidence from which causes are derived."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analyzers.causes.application import Application
from analyzers.history.fault_events import FaultEvent
from analyzers.history.run_progress import common
from analyzers.history.surroundings import BrokerLogs, Unit, seconds
from analyzers.verdict.wording import scale_of


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The findings of one anomaly in one log and one period. Times in ns."""

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
    processes: tuple[int, ...] = ()
    """The clients that the first of the findings name."""
    period: int = 0
    """How many of `RunEvidence.boundaries` lie at or before the findings."""

    @property
    def log(self) -> str | None:
        return None if self.topic is None or self.partition is None else f"{self.topic}-{self.partition}"


def merged(extents: Iterable[Extent]) -> dict[str, Extent]:
    """By anomaly: those of several periods, of one log, as one."""
    by_anomaly: dict[str, Extent] = {}
    for each in extents:
        one = by_anomaly.get(each.anomaly)
        by_anomaly[each.anomaly] = each if one is None else _together(one, each)
    return by_anomaly


def logs_of(extents: Iterable[Extent]) -> tuple[str, ...]:
    """In the order of their names."""
    return tuple(sorted({each.log for each in extents if each.log is not None}))


def span_of(extents: Iterable[Extent]) -> tuple[int | None, int | None]:
    """When the first of the findings was seen, and the last; ns, each None where it is unknown of all."""
    every = list(extents)
    return _lowest(each.first for each in every), _highest(each.last for each in every)


def _together(one: Extent, other: Extent) -> Extent:
    first, last = span_of((one, other))
    return replace(
        one,
        count=one.count + other.count,
        first=first,
        last=last,
        low=_lowest((one.low, other.low)),
        high=_highest((one.high, other.high)),
        processes=tuple(sorted({*one.processes, *other.processes})),
    )


def _lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


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
class Source:
    """From then on, a client got its records of a log from this broker. Time in ns."""

    time: int
    process: int
    node: int


@dataclass(frozen=True, kw_only=True)
class EpochStart:
    """The first record of a leader epoch that clients got from a log."""

    epoch: int
    offset: int
    time: int
    """ns, when its send was invoked."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A partition was assigned to a member of a group. Time in ns."""

    time: int
    process: int
    log: str
    group: str
    generation: int | None
    start: int | None
    """The offset from which it reads."""
    policy: str | None = None
    """auto.offset.reset; None if it is not recorded."""


@dataclass(frozen=True, kw_only=True)
class LogEvidence:
    """Of one log: its findings, and the changes of its replicas in order of time."""

    log: str
    extents: Sequence[Extent]
    changes: Sequence[Change]
    sources: Sequence[Source] = ()
    """In order of time."""
    epochs: Sequence[EpochStart] = ()
    """In order of the epochs; only of a log without samples."""


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
    sources: Mapping[str, Sequence[Source]] = field(default_factory=dict)
    """By log, in order of time: of the clients that read for a session."""
    assignments: Sequence[Assignment] = ()
    """In order of time."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the topics and the producers, as far as they are recorded and the same for all."""
    producers: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """The settings of each client process that records its own."""
    epochs: Mapping[str, Sequence[EpochStart]] = field(default_factory=dict)
    """By log, in order of the epochs; only of logs without samples."""
    logs: BrokerLogs | None = None
    """What the brokers logged; None where it was not kept."""
    unit: Unit = "s"
    """In which times are shown."""
    operations: frozenset[str] = frozenset()
    """The kinds of operations (f) of the run."""
    every: Sequence[Extent] = ()
    """All findings of the run, while `extents` are those that no explainer has explained yet."""
    application: Application | None = None
    """Of the user; None where there is none, or it has no findings."""
    boundaries: Sequence[int] = ()
    """ns, in order of time: they divide the run into periods, in which findings are counted separately."""

    @property
    def anomalies(self) -> frozenset[str]:
        """Of all findings, also of those that are explained already."""
        return frozenset(each.anomaly for each in (self.every or self.extents))

    def period(self, time: int) -> int:
        return bisect_right(self.boundaries, time)

    def of_log(self, log: str) -> LogEvidence:
        return LogEvidence(
            log=log,
            extents=[each for each in self.extents if each.log == log],
            changes=self.changes.get(log, []),
            sources=self.sources.get(log, []),
            epochs=self.epochs.get(log, []),
        )

    def settings_of(self, extents: Iterable[Extent]) -> dict[str, str]:
        """Those that the clients which the findings name have in common, and those of the topics."""
        named = [self.producers.get(each, {}) for each in {p for one in extents for p in one.processes}]
        return {**self.settings, **common(named)}

    def at(self, time: int | None) -> float | None:
        """s since the run's first operation."""
        return seconds(time, self.began)

    def moment(self, time: int, beside: int | None = None) -> str:
        """Since the run's first operation, for a text. beside: another time, which must not look equal."""
        at = self.at(time)
        return "an unknown time" if at is None else scale_of([at, self.at(beside)], self.unit).text(at)

    def active(self, first: int | None, last: int | None) -> list[FaultEvent]:
        """The faults that may have been active at some time between."""
        if first is None:
            return []
        end = first if last is None else last
        return [event for event in self.events if event.active_between(first, end)]
