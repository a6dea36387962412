"""Runs of candidates within a time budget, with those that an earlier search has made already."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic

from nemesis.shrink.candidate import C, Trial, key_of


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
