"""What the search works on: candidates, and the record of their runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nemesis.schedule import Schedule

Self_ = TypeVar("Self_", bound="Candidate")
C = TypeVar("C", bound="Candidate")


class Candidate(Protocol):
    """Something with a schedule that can be run. It is immutable, and candidates with equal JSON are equal."""

    @property
    def schedule(self) -> Schedule: ...

    def scheduled(self: Self_, schedule: Schedule) -> Self_:
        """The same with another schedule. Raises ValueError where that is impossible."""

    def simpler(self: Self_) -> Iterable[tuple[str, Self_]]:
        """Candidates that are smaller in another respect than the schedule, each with a text that names it."""

    def to_json(self) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run. candidate: its JSON; why: how it differs; seconds: by `Shrink.clock`."""

    candidate: Any
    why: str
    reproduced: bool
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {
            "why": self.why,
            "reproduced": self.reproduced,
            "seconds": round(self.seconds, 3),
            "candidate": self.candidate,
        }


def key_of(candidate: Any) -> str:
    """The same text for the same candidate, given as JSON."""
    return json.dumps(candidate, sort_keys=True)
