"""The result of an audit: an outcome for each subject and event, and what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pytest_kafkacheck.audit.outcome import Outcome
from pytest_kafkacheck.audit.rule import EFFECTS
from pytest_kafkacheck.audit.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Problem:
    """tried: what was asked of the cluster. missing: what is not known therefore. remedy: what would help."""

    tried: str
    missing: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.tried}: {self.missing}" + (f" ({self.remedy})" if self.remedy else "")

    def to_json(self) -> dict[str, str]:
        return {"tried": self.tried, "missing": self.missing, "remedy": self.remedy}


@dataclass(frozen=True)
class Judged:
    """A subject with its outcomes."""

    subject: Subject
    outcomes: tuple[Outcome, ...]

    def to_json(self) -> dict[str, Any]:
        configuration = self.subject.configuration
        return {
            "subject": self.subject.name,
            "settings": configuration.to_json(),
            "origins": dict(self.subject.origins),
            "unknown": {name: list(values) for name, values in self.subject.unknown.items()},
            "problems": list(configuration.problems()),
            "notes": list(self.subject.notes),
            "outcomes": [each.to_json() for each in self.outcomes],
        }


@dataclass(frozen=True)
class Report:
    """problems: what could not be read, and what would help."""

    subjects: Sequence[Subject]
    problems: Sequence[Problem] = ()

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        return tuple(Judged(subject, subject.outcomes) for subject in self.subjects)

    @property
    def loses(self) -> bool:
        return any(each.effect == "loses" for judged in self.judged for each in judged.outcomes)

    def to_json(self) -> dict[str, Any]:
        return {
            "subjects": [judged.to_json() for judged in self.judged],
            "problems": [problem.to_json() for problem in self.problems],
        }


def count_text(outcomes: Sequence[Outcome]) -> str:
    """Such as "of 11 events: loses 3, unavailable 1, keeps 7"."""
    counts = Counter(each.effect for each in outcomes)
    parts = [f"{effect} {counts[effect]}" for effect in EFFECTS if counts[effect]]
    return f"of {len(outcomes)} events: {', '.join(parts)}"
