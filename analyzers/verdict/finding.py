"""What a verdict lists: findings, each of one kind of anomaly, and causes, each with the findings it explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from analyzers.catalogue.anomaly import Severity
from analyzers.catalogue.registry import ANOMALIES

SEVERITIES = get_args(Severity)
"""Worst first."""


def rank(anomaly: str) -> tuple[int, int]:
    """A key to sort anomalies by: worst first, then as in the catalogue."""
    return SEVERITIES.index(ANOMALIES[anomaly].severity), list(ANOMALIES).index(anomaly)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One kind of anomaly in one run."""

    anomaly: str
    count: int
    """The exact number of occurrences, however few of them are in `examples`."""
    summary: str
    allowed: bool = False
    """Reported, but without effect on the result."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """The first occurrences in time. Keys of every example: those of the anomaly's subject (mostly topic and
    partition), time (s since the run's first operation; null if unknown), faults (the names of those active at that
    time, or since the anomaly began, see `Anomaly.since`). The catalogue explains the other keys of each anomaly."""

    def __post_init__(self) -> None:
        if self.anomaly not in ANOMALIES:
            raise ValueError(f"anomaly: expected one of {', '.join(ANOMALIES)}, got {self.anomaly!r}")
        if self.count < max(1, len(self.examples)):
            raise ValueError(
                f"count: expected at least 1 and the number of examples ({len(self.examples)}), "
                f"got {self.count}"
            )

    @property
    def severity(self) -> Severity:
        return ANOMALIES[self.anomaly].severity


Changes = Literal["setting", "application", "nothing", "unknown"]
"""What has to be changed so that the findings of a cause do not come again. ``application``: what a client of the
cluster does. ``nothing``: Kafka does not promise otherwise. ``unknown``: the cause is not determined."""

Kind = Literal[
    "truncation",
    "two leaders",
    "follower reads",
    "duplicate delivery",
    "group handover",
    "application",
    "removal",
    "unknown",
]
"""What happened, whatever allowed it. Stable: programs that read verdicts refer to it."""

NOT_DETERMINED: Kind = "unknown"
"""Of findings that nothing explains. In texts, their cause is "not determined"."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of the story of a cause."""

    time: float | None
    """s since the run's first operation."""
    text: str
    is_fault: bool = False
    """Whether a fault begins here, from which later steps are counted."""


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A replica dropped the end of its log."""

    node: int
    log_end: int
    """Before the cut, exclusive."""
    offset: int
    """Where the log ended after the cut, exclusive; at most that, if no sample shows it and findings do."""
    epoch: int | None
    """The leader epoch in which the replica last was, as it saw itself."""
    time: float | None
    """Of the first sample that shows it, s since the run's first operation."""
    log: str = ""
    """Such as ``orders-0``; empty in verdicts of earlier versions, whose causes concern one log."""


@dataclass(frozen=True, kw_only=True)
class Election:
    leader: int
    epoch: int
    time: float | None
    """Of the first sample that shows it, s since the run's first operation."""
    isr: tuple[int, ...] = ()
    """As the new leader first reported it."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What has to be changed, what happened, and the findings that it explains."""

    kind: Kind
    name: str = ""
    """That of its `CauseKind` in `analyzers.causes`, such as ``acks=1``: the findings of a run that one change
    prevents are one cause. Empty in verdicts of earlier versions, as are the following."""
    changes: Changes = "unknown"
    why: str = ""
    """One line."""
    change: str = ""
    """What to try; empty where nothing has to be changed, or where that is not known."""
    source: str = ""
    """Where Kafka documents it."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Those on which it depends, as far as the run recorded them."""
    unrecorded: tuple[str, ...] = ()
    """Names of the settings on which it depends and that the run did not record."""
    logs: tuple[str, ...] = ()
    findings: Mapping[str, int] = field(default_factory=dict)
    """Anomaly to the number of findings of this cause."""
    circumstances: tuple[str, ...] = ()
    """What made it possible, in the words of `analyzers.causes.explainer`."""
    faults: tuple[str, ...] = ()
    """The events of the schedule that were active meanwhile."""
    cuts: tuple[Cut, ...] = ()
    """The largest first."""
    election: Election | None = None
    """The one that replaced the leader whose log was cut; of several, that of the largest cut."""
    steps: tuple[Step, ...] = ()
    """In order of time."""

    @property
    def is_determined(self) -> bool:
        return self.kind != NOT_DETERMINED

    @property
    def title(self) -> str:
        """For a heading."""
        return (self.name or self.kind) if self.is_determined else "not determined"

    def cuts_of(self, log: str) -> tuple[Cut, ...]:
        return tuple(cut for cut in self.cuts if cut.log == log or (not cut.log and self.logs == (log,)))
