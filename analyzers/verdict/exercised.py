"""What a run exercised: a promise that was never put to the test cannot be called kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analyzers.verdict.numbers import require_numbers


@dataclass(frozen=True, kw_only=True)
class FaultExercised:
    """One fault event, and the acknowledgements around it. Times in s since the run's first operation."""

    event: str
    fault: str
    target: str
    nodes: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    """Client processes, if the fault acted on clients."""
    effective: bool
    """The injection was verified: the fault was present."""
    healed: bool
    """The healing was verified: the fault was gone."""
    began: float | None = None
    ended: float | None = None
    acks_before: int = 0
    """Sends acknowledged before the injection began."""
    acks_during: int = 0
    """Sends invoked and acknowledged while the fault was certainly present: from the end of the injection to the
    beginning of the healing. A send invoked earlier may have been replicated before the fault, however late its
    acknowledgement came."""
    acks_after: int = 0
    """Sends acknowledged after the healing ended."""


@dataclass(frozen=True, kw_only=True)
class Exercised:
    """The operations, faults and cluster changes of one run, counted."""

    sends: Mapping[str, int] = field(default_factory=dict)
    """By completion type."""
    polls: int = 0
    """Records polled, including those of final reads."""
    transactions: Mapping[str, int] = field(default_factory=dict)
    """By completion type; committed and aborted transactions together."""
    commits: Mapping[str, int] = field(default_factory=dict)
    """Commits of group offsets by completion type; one per partition."""
    final_reads: Mapping[str, int] = field(default_factory=dict)
    """By completion type; one per attempt on a partition."""
    session_reads: Mapping[str, int] = field(default_factory=dict)
    """By completion type."""
    faults: tuple[FaultExercised, ...] = ()
    leader_changes: int = 0
    isr_changes: int = 0
    smallest_isr: int | None = None
    """The fewest in-sync replicas that any broker reported of any partition; None if nothing was observed."""
    phase: str | None = None
    """The last phase of the run that began; None if none is recorded."""
    failed_steps: tuple[str, ...] = ()
    """Steps of the run that failed; the reasons are among the verdict's unknowns."""

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Exercised:
        """From the JSON object of a stored verdict. Raises TypeError for any other object."""
        faults = tuple(
            FaultExercised(**fault | {name: tuple(fault[name]) for name in ("nodes", "processes")})
            for fault in data["faults"]
        )
        for fault in faults:
            require_numbers(fault.event, fault.began, fault.ended)
        return cls(**{**data, "faults": faults, "failed_steps": tuple(data.get("failed_steps", ()))})

    @property
    def acks(self) -> int:
        return self.sends.get("ok", 0)


NOTHING = Exercised()
"""Of a run without any operation."""
