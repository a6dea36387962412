"""Shrinking what fails now and then: the smallest candidate that still shows it, found within a time budget.

Every question costs a run of a real cluster, and a run that shows nothing proves little. So a candidate is accepted
when it has shown the anomaly once, and rejected when, were it as prone to it as those before, it would have shown
it by now with 95 % probability. What was asked is never asked again; given the answers of an earlier search, the
search takes the same way without runs and goes on where that one ended.
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
"""More runs are not spent on one candidate: below a rate of about 0.28 the doubt grows."""

RESERVE = 0.25
"""Part of the budget that is kept, at most, for confirming the result."""

Self_ = TypeVar("Self_", bound="Candidate")
C = TypeVar("C", bound="Candidate")


class Candidate(Protocol):
    """Something with a schedule that can be run. Immutable; equal JSON means equal candidates."""

    @property
    def schedule(self) -> Schedule: ...

    def scheduled(self: Self_, schedule: Schedule) -> Self_:
        """The same with another schedule. Raises ValueError where that cannot be."""

    def simpler(self: Self_) -> Iterable[tuple[str, Self_]]:
        """Candidates smaller in something else than the schedule, each with what was made smaller."""

    def to_json(self) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run. candidate: its JSON; why: what was tried with it; seconds: of `Shrink.clock`."""

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
    """best       the smallest candidate that showed the anomaly; the start when none did.
    reproduced    whether any run showed it.
    hits, runs    of the runs of `best` after the one that made it the best.
    complete      whether the search came to its end; else the budget did.
    rate          estimated probability that a run shows it, over all candidates that ever did.
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
    """Raised by `reproduces` for a candidate that cannot be run at all: it is rejected, without a trial."""


class Shrink(Generic[C]):
    """Runs once.

    reproduces    runs a candidate once: whether it showed the anomaly. Exceptions of its, Impossible aside, leave
                  `run`; `best` then is what it was, and the run counts for nothing.
    budget        seconds; no run begins after them.
    keep          called with the best so far and all trials, whenever there is a better one.
    tried         called after every run.
    evidence      what the first run tells of the cause; None for nothing.
    seen          trials of an earlier search from the same start; they are not made again.
    confirmations runs of the result at the end.
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
        self._answers: dict[str, list[bool]] = {}
        for trial in self.log:
            self._answers.setdefault(_key(trial.candidate), []).append(trial.reproduced)

    @property
    def rate(self) -> float:
        """How often candidates with the cause show the anomaly: a guess that one success raises to 0.9, not to 1."""
        return (self._hits + 1) / (self._tries + 1.25) if self._hits else 0.0

    def run(self) -> Shrunk[C]:
        """Shrink until nothing more can be left out, or the budget is over."""
        try:
            # A start that shows nothing in so many runs is rare, or needs what a replay cannot give.
            if not self._test("the experiment as it was", self.best, misses=MOST_MISSES):
                return Shrunk(best=self.best, reproduced=False, complete=True)
        except BudgetOver:
            return Shrunk(best=self.best, reproduced=False)
        complete = True
        try:
            self._search()
        except BudgetOver:
            complete = False
        answers = self._confirm()
        return Shrunk(
            best=self.best,
            reproduced=True,
            hits=sum(answers),
            runs=len(answers),
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
            self._rest()
            # With other times or fewer clients, an event more may turn out to be needless.
            if not self._events(nothing=True):
                return

    def _first_of(self, proposals: Iterable[tuple[str, Schedule]]) -> None:
        any(self._try(why, schedule) for why, schedule in proposals)

    def _classes(self) -> None:
        kinds = classes(self.best.schedule, self._evidence.suspects)
        ddmin(kinds, lambda kept: self._keeps(frozenset().union(*kept), "fewer kinds of faults"))

    def _events(self, *, nothing: bool) -> bool:
        """Whether any could be left out."""
        before = [event.id for event in self.best.schedule.events]
        ids = sorted(before, key=lambda each: each not in self._evidence.suspects)
        left = ddmin(ids, lambda kept: self._keeps(kept, "fewer events"), nothing=nothing)
        return len(left) < len(before)

    def _keeps(self, ids: Iterable[str], why: str) -> bool:
        return self._try(why, only(self.best.schedule, frozenset(ids)))

    def _durations(self) -> None:
        ids = [event.id for event in self.best.schedule.events]
        together = [ids] if len(ids) > 1 else []
        for some in (*together, *([each] for each in ids)):
            while (half := shorter(self.best.schedule, some)) is not None:
                if not self._try(f"{', '.join(some)} for half as long", half):
                    break

    def _rest(self) -> None:
        rejected: set[str] = set()
        going = True
        while going:
            going = False
            for why, candidate in self.best.simpler():
                if why in rejected:
                    continue
                if self._test(why, candidate):
                    going = True
                    break
                rejected.add(why)

    def _try(self, why: str, schedule: Schedule) -> bool:
        try:
            candidate = self.best.scheduled(schedule)
        except ValueError:
            return False
        return self._test(why, candidate)

    def _test(self, why: str, candidate: C, *, misses: int | None = None) -> bool:
        """Whether a candidate shows the anomaly, by as many runs as that takes; it is the best then."""
        key = _key(candidate.to_json())
        if key in self._rejected:
            return False
        answers = self._answers.setdefault(key, [])
        needed = misses or misses_to_reject(self.rate)
        while True not in answers:
            if len(answers) >= needed:
                self._rejected.add(key)
                return False
            try:
                self._run(why, candidate, until=self._budget - self._reserve())
            except Impossible:
                answers += [False] * MOST_MISSES
        self._hits, self._tries = self._hits + 1, self._tries + answers.index(True) + 1
        self.best = candidate
        self._keep(candidate, tuple(self.log))
        return True

    def _confirm(self) -> list[bool]:
        """Answers of further runs of the best; the first success only chose it."""
        answers = self._answers[_key(self.best.to_json())]
        first = answers.index(True) + 1
        try:
            while len(answers) - first < self._confirmations:
                self._run("once more, for its rate", self.best, until=self._budget)
        except (BudgetOver, Impossible):
            pass
        return answers[first:]

    def _reserve(self) -> float:
        """Seconds of the budget that the search leaves for the end."""
        took = self._last.seconds if self._last is not None else 0.0
        return min(self._confirmations * took, RESERVE * self._budget) if self._hits else 0.0

    def _run(self, why: str, candidate: C, *, until: float) -> None:
        began = self._clock()
        if began - self._begun >= until:
            raise BudgetOver
        reproduced = self._reproduces(candidate)
        data = candidate.to_json()
        trial = Trial(candidate=data, why=why, reproduced=reproduced, seconds=self._clock() - began)
        self._answers[_key(data)].append(reproduced)
        self.log.append(trial)
        if reproduced:
            self._last = trial
        self._tried(trial)


def misses_to_reject(rate: float) -> int:
    """Runs without the anomaly after which what shows it in `rate` of its runs is not believed to be there."""
    if rate >= 1 - DOUBT:
        return 1
    if rate <= 0:
        return MOST_MISSES
    return max(1, min(MOST_MISSES, math.ceil(math.log(DOUBT) / math.log(1 - rate))))


def _key(candidate: Any) -> str:
    return json.dumps(candidate, sort_keys=True)
