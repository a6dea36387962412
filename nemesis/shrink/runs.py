"""What the search works on: candidates, their runs within a time budget, and how far its result can be relied on."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

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


class BudgetOver(Exception):
    """No further run may begin."""


class Impossible(Exception):
    """Raised by `reproduces` for a candidate that cannot be run. It is rejected without a trial."""


class Runs(Generic[C]):
    """Answers for one candidate after another whether a run of it showed the anomaly.

    Given the trials of an earlier search, it returns their results first, in their order for each candidate, so the
    same search makes the same decisions without runs, and goes on where the earlier one ended.
    """

    def __init__(
        self,
        reproduces: Callable[[C], bool],
        *,
        renew: Callable[[], None],
        budget: float,
        tried: Callable[[Trial], None],
        seen: Iterable[Trial],
        clock: Callable[[], float],
    ) -> None:
        self.log = list(seen)
        self.seconds = 0.0
        """Duration of the last run that showed the anomaly."""
        self._reproduces, self._renew, self._tried = reproduces, renew, tried
        self._budget, self._clock = budget, clock
        self._begun = clock()
        self._results: dict[str, list[bool]] = {}
        self._seen: dict[str, deque[Trial]] = {}
        for trial in self.log:
            self._seen.setdefault(key_of(trial.candidate), deque()).append(trial)

    def of(self, candidate: C) -> list[bool]:
        """The results so far. A list that grows with each run."""
        return self._results.setdefault(key_of(candidate.to_json()), [])

    def make(self, candidate: C, why: str, *, reserve: float = 0.0, anew: bool = False) -> None:
        """Run it once more. Raises BudgetOver when less than `reserve` seconds of the budget are left.

        anew  whether the run must not depend on earlier ones.
        """
        results, data = self.of(candidate), candidate.to_json()
        if seen := self._seen.get(key_of(data)):
            self._count(results, seen.popleft())
            return
        began = self._clock()
        if began - self._begun >= self._budget - reserve:
            raise BudgetOver
        if anew:
            self._renew()
        reproduced = self._reproduces(candidate)
        trial = Trial(candidate=data, why=why, reproduced=reproduced, seconds=self._clock() - began)
        self.log.append(trial)
        self._count(results, trial)
        self._tried(trial)

    def _count(self, results: list[bool], trial: Trial) -> None:
        results.append(trial.reproduced)
        if trial.reproduced:
            self.seconds = trial.seconds


@dataclass(frozen=True, kw_only=True)
class Measured(Generic[C]):
    """How often an experiment showed the anomaly. why: how it differs from the one before."""

    candidate: C
    why: str
    hits: int
    runs: int


@dataclass(frozen=True, kw_only=True)
class Shrunk(Generic[C]):
    """The result of a search, or of a part of it.

    best        the smallest candidate whose rate was confirmed; while there is none, the smallest one that showed the
                anomaly; the start if none did.
    reproduced  whether any run showed the anomaly.
    hits, runs  its confirming runs, and how many of them showed the anomaly. The search did not choose it by these.
    confirmed   whether these runs were enough for the test of its rate (nemesis/shrink/rate.py).
    is_reliable whether they also showed a good rate: the anomaly in at least 4 of 5. Never where the start itself has
                no good rate, for a part of it that seems to have one was probably lucky.
    complete    whether the search ended before the budget did.
    larger      larger candidates that showed the anomaly, the start first.
    smaller     smaller ones that showed it, and were not reliable or not confirmed.
    """

    best: C
    reproduced: bool
    hits: int = 0
    runs: int = 0
    confirmed: bool = False
    is_reliable: bool = False
    complete: bool = False
    larger: Sequence[Measured[C]] = ()
    smaller: Sequence[Measured[C]] = ()
