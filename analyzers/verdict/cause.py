"""A cause: what happened in the cluster, and the findings that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from analyzers.verdict.numbers import require_numbers

Kind = Literal[
    "truncation", "two leaders", "follower reads", "duplicate delivery", "group handover", "unknown"
]


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
    """What happened, and the findings that it explains. Derived from the history only; `kind` is ``unknown`` where
    nothing in the history explains them."""

    kind: Kind
    logs: tuple[str, ...] = ()
    findings: Mapping[str, int] = field(default_factory=dict)
    """Anomaly to the number of findings of this cause."""
    circumstances: tuple[str, ...] = ()
    """What made it possible, in the words of `analyzers.causes.circumstance`."""
    faults: tuple[str, ...] = ()
    """The events of the schedule that were active meanwhile."""
    cuts: tuple[Cut, ...] = ()
    """The largest first."""
    election: Election | None = None
    """The one that replaced the leader whose log was cut."""
    steps: tuple[Step, ...] = ()
    """In order of time."""

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Cause:
        """From the JSON object of a stored verdict. Raises TypeError for any other object."""
        election = data["election"]
        cause = cls(
            **dict(data)
            | {name: tuple(data[name]) for name in ("logs", "circumstances", "faults")}
            | {
                "cuts": tuple(Cut(**each) for each in data["cuts"]),
                "election": election and Election(**election | {"isr": tuple(election["isr"])}),
                "steps": tuple(Step(**each) for each in data["steps"]),
            }
        )
        require_numbers("a cause", *(step.time for step in cause.steps), *(cut.time for cut in cause.cuts))
        return cause
