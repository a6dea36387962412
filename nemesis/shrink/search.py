"""Shrink an experiment whose failure is not deterministic, to one that can be relied on, within a time budget.

Every run costs a part of a minute on a real cluster, so runs are spent where they decide something:

1. A candidate is selected by its first runs: mostly one, with the anomaly. Most that lack the cause never show it,
   and one run without the anomaly rejects them (`RateTest.selected_after`, `is_hopeless`).
2. Selection favours luck: a candidate that shows the anomaly in one of three runs is selected easily. So the result
   is confirmed by runs that it was not selected by, five where all agree (`RateTest.decide`). The parts are removed
   and confirmed first, then the durations: a shorter fault may make an anomaly rare instead of preventing it.
3. Where the confirmation fails, the reduction is taken back, then the one before it, up to one that is confirmed, and
   the search goes on from there without them. A single run is enough where all of a larger candidate agreed.
4. A start that itself fails the test is the measure: the rate of a reduction must not fall below it.

What was decided is not tried again. Given the trials of an earlier search, the search repeats its decisions without
runs, and continues where that search ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Generic

from nemesis.schedule import Schedule
from nemesis.shrink.rate import MOST_MISSES, RateTest, lowered
from nemesis.shrink.reductions import Evidence, by_evidence, classes, closer, ddmin, jumps, only, shorter
from nemesis.shrink.runs import BudgetOver, C, Impossible, Measured, Runs, Shrunk, Trial, key_of

START = "the experiment as it was"
AGAIN = "again, to confirm its rate"

CONFIRMING = 5
"""Runs that confirm a result when all agree."""

RESERVE = 0.4
"""Largest share of the budget that is reserved for confirming the result."""


@dataclass(frozen=True, kw_only=True)
class _Step(Generic[C]):
    """A candidate on the way to the result. key: of the candidate; why: how it differs from the one before."""

    key: str
    why: str
    candidate: C


class Shrink(Generic[C]):
    """Runs once.

    reproduces    runs a candidate once, and returns whether it showed the anomaly. Exceptions other than Impossible
                  leave `run`; `progress` then is what was found, and the run is not counted.
    budget        seconds after which no run begins.
    keep          called with what was found so far and all trials whenever that is better than before.
    tried         called after every run.
    renew         called before the start is run, and before the first confirming run of a candidate: it makes them
                  independent of earlier runs.
    evidence      what the first run shows about the cause; None for nothing.
    seen          trials of an earlier search from the same start; they are not repeated.
    clock         monotonic seconds.
    """

    def __init__(
        self,
        start: C,
        reproduces: Callable[[C], bool],
        *,
        budget: float,
        keep: Callable[[Shrunk[C], Sequence[Trial]], None] = lambda *_: None,
        tried: Callable[[Trial], None] = lambda _: None,
        renew: Callable[[], None] = lambda: None,
        evidence: Evidence | None = None,
        seen: Iterable[Trial] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = Runs(reproduces, renew=renew, budget=budget, tried=tried, seen=seen, clock=clock)
        self._budget, self._keep, self._evidence = budget, keep, evidence or Evidence()
        self._test = RateTest()
        self._path = [_Step(key=key_of(start.to_json()), why=START, candidate=start)]
        """The start, and the candidates selected after it, each a reduction of the one before."""
        self._taken_back: list[_Step[C]] = []
        self._rejected: set[str] = set()
        self._confirmed: set[str] = set()

    @property
    def log(self) -> Sequence[Trial]:
        return self._runs.log

    def run(self) -> Shrunk[C]:
        """Shrink until nothing more can be removed, or the budget is used up."""
        complete = False
        try:
            if self._begin():
                self._search()
            complete = True
        except BudgetOver:
            with suppress(BudgetOver):
                # The reserve is for this.
                if len(self._path) > 1:
                    self._confirm()
        return self.progress(complete=complete)

    def progress(self, *, complete: bool = False) -> Shrunk[C]:
        """What was found so far."""
        newest = len(self._path) - 1
        numbers = (number for number in range(newest, 0, -1) if self._path[number].key in self._confirmed)
        chosen = next(numbers, newest)
        best = self._path[chosen]
        results = self._confirming(best)
        path = {step.key for step in self._path}
        taken_back = (step for step in self._taken_back if step.key not in path)
        unsure = [*reversed(self._path[chosen + 1 :]), *taken_back]
        smaller = [each for each in map(self._measured, unsure) if each.hits]
        larger = [each for each in map(self._measured, self._path[:chosen]) if each.runs]
        confirmed = best.key in self._confirmed
        return Shrunk(
            best=best.candidate,
            reproduced=chosen > 0 or True in results,
            hits=sum(results),
            runs=len(results),
            confirmed=confirmed,
            is_reliable=confirmed and not self._test.is_lowered,
            complete=complete,
            larger=larger,
            smaller=smaller,
        )

    @property
    def _best(self) -> C:
        return self._path[-1].candidate

    def _begin(self) -> bool:
        """Whether anything shows the anomaly. The start need not be run where a part of it shows it."""
        return (
            any(self._test_candidate(*each) for each in jumps(self._best, self._evidence))
            or self._show_start()
        )

    def _search(self) -> None:
        """Until all reductions of a confirmed candidate are rejected."""
        while True:
            before = self._best
            self._parts()
            if self._confirm():
                self._durations()
            if self._confirm() and self._best == before:
                return
            if len(self._path) == 1 and not self._show_start():
                return

    def _parts(self) -> None:
        if len(self._path) == 1:
            any(self._test_candidate(*each) for each in jumps(self._best, self._evidence))
        if len(self._path) == 1:
            self._first_of(by_evidence(self._best.schedule, self._evidence))
        self._first_of(closer(self._best.schedule))
        self._classes()
        self._others()
        self._events()

    def _first_of(self, proposals: Iterable[tuple[str, Schedule]]) -> None:
        any(self._try(why, schedule) for why, schedule in proposals)

    def _classes(self) -> None:
        kinds = classes(self._best.schedule, self._evidence.suspects)
        ddmin(kinds, lambda kept: self._try_only(frozenset().union(*kept), "fewer kinds of faults"))

    def _events(self) -> None:
        before = [event.id for event in self._best.schedule.events]
        ids = sorted(before, key=lambda each: each not in self._evidence.suspects)
        ddmin(ids, lambda kept: self._try_only(kept, "fewer events" if kept else "no event"), nothing=True)

    def _try_only(self, ids: Iterable[str], why: str) -> bool:
        return self._try(why, only(self._best.schedule, frozenset(ids)))

    def _durations(self) -> None:
        ids = [event.id for event in self._best.schedule.events]
        together = [ids] if len(ids) > 1 else []
        for some in (*together, *([each] for each in ids)):
            while (half := shorter(self._best.schedule, some)) is not None:
                lasting = (f"{event.id} for {event.lasting:g} s" for event in half.events if event.id in some)
                if not self._try(", ".join(lasting), half):
                    break

    def _others(self) -> None:
        rejected: set[str] = set()
        is_improving = True
        while is_improving:
            is_improving = False
            for why, candidate in self._best.simpler():
                if why in rejected:
                    continue
                if self._test_candidate(why, candidate):
                    is_improving = True
                    break
                rejected.add(why)

    def _try(self, why: str, schedule: Schedule) -> bool:
        try:
            candidate = self._best.scheduled(schedule)
        except ValueError:
            return False
        return self._test_candidate(why, candidate)

    def _test_candidate(self, why: str, candidate: C) -> bool:
        """Whether a candidate is selected. It then becomes the best one so far."""
        key = key_of(candidate.to_json())
        if key in self._rejected or any(key == step.key for step in self._path):
            return False
        results = self._runs.of(candidate)
        while self._test.selected_after(results) is None:
            if self._test.is_hopeless(results):
                return False
            try:
                self._runs.make(candidate, why, reserve=self._reserve())
            except Impossible:
                self._rejected.add(key)
                return False
        self._path.append(_Step(key=key, why=why, candidate=candidate))
        self._report()
        return True

    def _confirm(self) -> bool:
        """Whether the best one holds. If not, reductions are taken back up to one that does, or to the start."""
        best, test = self._best, self._test
        while not self._holds(self._path[-1]) and len(self._path) > 1:
            self._rejected.add(self._path[-1].key)
            self._taken_back.append(self._path.pop())
        if self._best == best and self._test == test:
            return True
        self._report()
        return False

    def _holds(self, step: _Step[C]) -> bool:
        """Whether confirming runs show a good rate, or do not show a poor one where the start has no good one."""
        if step.key in self._confirmed:
            return True
        is_start = step is self._path[0]
        if is_start and not self._show_start():
            return True
        test = replace(self._test, failed=0 if is_start else len(self._taken_back))
        always = self._always_shown()
        while (decision := test.decide(self._confirming(step))) is None:
            done = len(self._confirming(step))
            if always and False in self._confirming(step):
                # A larger one has shown the anomaly in every confirming run, so the rate has fallen.
                return False
            if done >= test.most or (is_start and test.is_lowered):
                break
            try:
                self._runs.make(step.candidate, AGAIN, anew=is_start or not done)
            except Impossible:
                raise BudgetOver from None
        if decision is False and not is_start:
            return False
        self._confirmed.add(step.key)
        if decision is False:
            return not self._lower()
        self._report()
        return True

    def _always_shown(self) -> bool:
        """Whether the last confirmed candidate on the path showed the anomaly in all confirming runs."""
        confirmed = [step for step in self._path if step.key in self._confirmed]
        return bool(confirmed) and all(self._confirming(confirmed[-1]))

    def _report(self) -> None:
        found = self.progress()
        if found.reproduced:
            self._keep(found, self.log)

    def _show_start(self) -> bool:
        """Whether the start shows the anomaly. If it rarely does, that becomes the measure."""
        start = self._path[0].candidate
        results = self._runs.of(start)
        while True not in results:
            # An anomaly that does not appear in this many runs is rare, or depends on timing that a replay cannot
            # repeat.
            if len(results) >= MOST_MISSES:
                return False
            try:
                self._runs.make(start, START, anew=True)
            except Impossible:
                return False
        if self._test.decide(results) is False:
            self._lower()
        return True

    def _lower(self) -> bool:
        """Take the rate of the start as the measure, unless it is already. What was rejected gets another chance."""
        if self._test.is_lowered:
            return False
        self._test = lowered(self._runs.of(self._path[0].candidate))
        self._rejected.clear()
        return True

    def _confirming(self, step: _Step[C]) -> Sequence[bool]:
        """Results that the candidate was not selected by. No run selects the start."""
        results = self._runs.of(step.candidate)
        if step is self._path[0]:
            return results
        return results[self._test.selected_after(results) or len(results) :]

    def _measured(self, step: _Step[C]) -> Measured[C]:
        results = self._confirming(step) or self._runs.of(step.candidate)
        return Measured(candidate=step.candidate, why=step.why, hits=sum(results), runs=len(results))

    def _reserve(self) -> float:
        """Seconds of the budget that the search leaves for confirming the best."""
        if len(self._path) == 1 or self._path[-1].key in self._confirmed:
            return 0.0
        return min(CONFIRMING * self._runs.seconds, RESERVE * self._budget)
