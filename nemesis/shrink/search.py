"""Shrink an experiment whose failure is not deterministic, within a time budget.

Every trial of a candidate costs a run of a real cluster, and a run without the anomaly proves little. So a candidate
is accepted as soon as one run shows the anomaly. It is rejected after a number of runs without it: as many as would
show it with 95 % probability if the candidate had the estimated rate of those accepted before.

No candidate is tried again after its acceptance or rejection. Given the trials of an earlier search, the search
therefore repeats its decisions without runs, and continues where that search ended.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from nemesis.schedule import Schedule
from nemesis.shrink.ddmin import ddmin
from nemesis.shrink.reductions import Evidence, by_evidence, classes, closer, only, shorter

DOUBT = 0.05
"""Probability of rejecting a candidate that would have shown the anomaly."""

MOST_MISSES = 9
"""Largest number of runs without the anomaly for one candidate. Below a rate of about 0.28 the doubt is larger."""

RESERVE = 0.25
"""Largest share of the budget that is reserved for confirming the result."""

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


@dataclass(frozen=True, kw_only=True)
class Shrunk(Generic[C]):
    """The result of a search.

    best          the smallest candidate that showed the anomaly; the start if none did.
    reproduced    whether any run showed the anomaly.
    hits, runs    runs of `best` that showed the anomaly, and all its runs, after the one by which it was accepted.
    complete      whether the search ended before the budget did.
    rate          estimated probability that a run shows the anomaly, over all accepted candidates.
    """

    best: C
    reproduced: bool
    hits: int = 0
    runs: int = 0
    complete: bool = False
    rate: float = 0.0


class BudgetOver(Exception):
    """No further run may begin."""


class Impossible(Exception):
    """Raised by `reproduces` for a candidate that cannot be run. It is rejected without a trial."""


class Shrink(Generic[C]):
    """Runs once.

    reproduces    runs a candidate once, and returns whether it showed the anomaly. Exceptions other than Impossible
                  leave `run`; `best` then stays as it was, and the run is not counted.
    budget        seconds after which no run begins.
    keep          called with the best candidate and all trials whenever a better one is accepted.
    tried         called after every run.
    evidence      what the first run shows about the cause; None for nothing.
    seen          trials of an earlier search from the same start; they are not repeated.
    confirmations number of runs of the result at the end.
    clock         monotonic seconds.
    """

    def __init__(
        self,
        start: C,
        reproduces: Callable[[C], bool],
        *,
        budget: float,
        keep: Callable[[C, Sequence[Trial]], None] = lambda *_: None,
        tried: Callable[[Trial], None] = lambda _: None,
        evidence: Evidence | None = None,
        seen: Iterable[Trial] = (),
        confirmations: int = 3,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.best = start
        self.log = list(seen)
        self._reproduces = reproduces
        self._budget = budget
        self._keep = keep
        self._tried = tried
        self._evidence = evidence or Evidence()
        self._confirmations = confirmations
        self._clock = clock
        self._begun = clock()
        self._hits = self._tries = 0
        self._last: Trial | None = None
        self._rejected: set[str] = set()
        self._results: dict[str, list[bool]] = {}
        for trial in self.log:
            self._results.setdefault(_key(trial.candidate), []).append(trial.reproduced)

    @property
    def rate(self) -> float:
        """Estimated rate at which accepted candidates show the anomaly. One success in one run gives 0.9, not 1."""
        return (self._hits + 1) / (self._tries + 1.25) if self._hits else 0.0

    def run(self) -> Shrunk[C]:
        """Shrink until nothing more can be removed, or the budget is used up."""
        try:
            # A start that does not show the anomaly in this many runs is rare, or depends on timing that a replay
            # cannot repeat.
            if not self._test("the experiment as it was", self.best, misses=MOST_MISSES):
                return Shrunk(best=self.best, reproduced=False, complete=True)
        except BudgetOver:
            return Shrunk(best=self.best, reproduced=False)
        complete = True
        try:
            self._search()
        except BudgetOver:
            complete = False
        results = self._confirm()
        return Shrunk(
            best=self.best,
            reproduced=True,
            hits=sum(results),
            runs=len(results),
            complete=complete,
            rate=self.rate,
        )

    def _search(self) -> None:
        self._first_of(by_evidence(self.best.schedule, self._evidence))
        self._first_of(closer(self.best.schedule))
        self._classes()
        self._events(nothing=False)
        while True:
            self._first_of(closer(self.best.schedule))
            self._durations()
            self._others()
            # After changes of times or clients, another event may be removable.
            if not self._events(nothing=True):
                return

    def _first_of(self, proposals: Iterable[tuple[str, Schedule]]) -> None:
        any(self._try(why, schedule) for why, schedule in proposals)

    def _classes(self) -> None:
        kinds = classes(self.best.schedule, self._evidence.suspects)
        ddmin(kinds, lambda kept: self._try_only(frozenset().union(*kept), "fewer kinds of faults"))

    def _events(self, *, nothing: bool) -> bool:
        """Whether any event could be removed."""
        before = [event.id for event in self.best.schedule.events]
        ids = sorted(before, key=lambda each: each not in self._evidence.suspects)
        left = ddmin(ids, lambda kept: self._try_only(kept, "fewer events"), nothing=nothing)
        return len(left) < len(before)

    def _try_only(self, ids: Iterable[str], why: str) -> bool:
        return self._try(why, only(self.best.schedule, frozenset(ids)))

    def _durations(self) -> None:
        ids = [event.id for event in self.best.schedule.events]
        together = [ids] if len(ids) > 1 else []
        for some in (*together, *([each] for each in ids)):
            while (half := shorter(self.best.schedule, some)) is not None:
                if not self._try(f"{', '.join(some)} with half the duration", half):
                    break

    def _others(self) -> None:
        rejected: set[str] = set()
        is_improving = True
        while is_improving:
            is_improving = False
            for why, candidate in self.best.simpler():
                if why in rejected:
                    continue
                if self._test(why, candidate):
                    is_improving = True
                    break
                rejected.add(why)

    def _try(self, why: str, schedule: Schedule) -> bool:
        try:
            candidate = self.best.scheduled(schedule)
        except ValueError:
            return False
        return self._test(why, candidate)

    def _test(self, why: str, candidate: C, *, misses: int | None = None) -> bool:
        """Whether a candidate shows the anomaly, by one run or several. Such a candidate becomes the best."""
        key = _key(candidate.to_json())
        if key in self._rejected:
            return False
        results = self._results.setdefault(key, [])
        needed = misses or misses_to_reject(self.rate)
        while True not in results:
            if len(results) >= needed:
                self._rejected.add(key)
                return False
            try:
                self._run(why, candidate, until=self._budget - self._reserve())
            except Impossible:
                results += [False] * MOST_MISSES
        self._hits, self._tries = self._hits + 1, self._tries + results.index(True) + 1
        self.best = candidate
        self._keep(candidate, tuple(self.log))
        return True

    def _confirm(self) -> list[bool]:
        """Results of further runs of the best. Its first success does not count, because it was accepted for it."""
        results = self._results[_key(self.best.to_json())]
        first = results.index(True) + 1
        try:
            while len(results) - first < self._confirmations:
                self._run("again, to estimate its rate", self.best, until=self._budget)
        except (BudgetOver, Impossible):
            pass
        return results[first:]

    def _reserve(self) -> float:
        """Seconds of the budget that the search leaves for the confirmations."""
        took = self._last.seconds if self._last is not None else 0.0
        return min(self._confirmations * took, RESERVE * self._budget) if self._hits else 0.0

    def _run(self, why: str, candidate: C, *, until: float) -> None:
        began = self._clock()
        if began - self._begun >= until:
            raise BudgetOver
        reproduced = self._reproduces(candidate)
        data = candidate.to_json()
        trial = Trial(candidate=data, why=why, reproduced=reproduced, seconds=self._clock() - began)
        self._results[_key(data)].append(reproduced)
        self.log.append(trial)
        if reproduced:
            self._last = trial
        self._tried(trial)


def misses_to_reject(rate: float) -> int:
    """Number of runs without the anomaly after which a candidate is rejected, if candidates show it at that rate."""
    if rate >= 1 - DOUBT:
        return 1
    if rate <= 0:
        return MOST_MISSES
    return max(1, min(MOST_MISSES, math.ceil(math.log(DOUBT) / math.log(1 - rate))))


def _key(candidate: Any) -> str:
    return json.dumps(candidate, sort_keys=True)
