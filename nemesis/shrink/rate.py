"""How often an experiment shows its anomaly: a sequential test that needs few runs.

Wald's sequential probability ratio test compares two rates after every run: a `good` one, and a `poor` one of 5/9 of
it. By default these are 0.9 and 0.5. The test ends as soon as the runs speak for one of them clearly enough:

    5 of 5, 8 of 9, 11 of 13, 14 of 17 or 16 of 20 runs show the anomaly: good
    1 of 3, 3 of 6, 7 of 11 runs, or fewer, show it: poor

Every accepted sequence has hits in at least 4 of 5 runs. The error rates, exact for these figures:

    rate of the experiment   0      1/3    0.5    0.6    0.7    0.8    0.9    0.95   1
    accepted as good         0 %    0.4 %  4.6 %  14 %   35 %   68 %   94 %   99 %   100 %
    runs on average          2      3.4    5.2    6.9    8.5    8.9    7.3    6.1    5

A test of a fixed number of runs needs 10 (8 hits) for about the same errors at 0.5 and 0.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

GOOD = 0.9
"""Rate that is to be accepted."""

POOR_SHARE = 5 / 9
"""Part of the good rate that is to be rejected. With it a hit counts the same for every good rate."""

FALSE_ACCEPTANCE = 0.05
"""Probability of accepting the poor rate, approximately."""

FALSE_REJECTION = 0.1
"""Probability of rejecting the good rate, approximately."""

DOUBT = 0.2
"""As `FALSE_REJECTION`, of a candidate that has not shown the anomaly yet. Larger, so that with a good rate of 0.9 a
single run without it is enough: most candidates of a search lack the cause, and would never show it."""

RELIABLE = 0.8
"""Part of the runs of a reliable result that show the anomaly, at least."""

MOST_MISSES = 9
"""Runs without the anomaly after which a candidate that has not shown it is rejected in any case."""

MOST_RUNS = 20
"""Runs after which a good rate counts as not shown. Of experiments with a rate of 0.8, 6 % get there."""

MOST_RUNS_BELOW = 10
"""The same for a good rate below `GOOD`. To distinguish such a rate from the poor one takes several dozen runs."""


@dataclass(frozen=True)
class RateTest:
    """Compares the rate `good`, between 0 and 0.9, with 5/9 of it. Results: whether each run showed the anomaly.

    failed  number of candidates that failed before. Of several poor ones, one passes sooner or later, so the error of
            acceptance is divided among them: 5 of 5 runs for the first, 7 of 7 after one failure, 8 of 8 after three.
    """

    good: float = GOOD
    failed: int = 0

    @property
    def is_lowered(self) -> bool:
        """Whether it is the test for an experiment that is not reliable itself."""
        return self.good < GOOD

    @property
    def most(self) -> int:
        """The largest number of runs that are made for a decision."""
        return MOST_RUNS_BELOW if self.is_lowered else MOST_RUNS

    def evidence(self, results: Sequence[bool]) -> float:
        """Logarithm of how much more likely the results are with the good rate than with the poor one."""
        poor = POOR_SHARE * self.good
        hits = sum(results)
        return hits * math.log(self.good / poor) + (len(results) - hits) * math.log(
            (1 - self.good) / (1 - poor)
        )

    def decide(self, results: Sequence[bool]) -> bool | None:
        """True: the rate is good; False: it is not; None: more runs are needed, or `most` were made."""
        evidence, acceptance = self.evidence(results), FALSE_ACCEPTANCE / (1 + self.failed)
        if evidence >= math.log((1 - FALSE_REJECTION) / acceptance):
            return True
        if evidence <= math.log(FALSE_REJECTION / (1 - acceptance)):
            return False
        return False if len(results) >= MOST_RUNS else None

    def selected_after(self, results: Sequence[bool]) -> int | None:
        """Number of the first runs that speak for the good rate, at least one of them with the anomaly.

        A candidate is selected by these runs, so they say nothing about its rate. None if there are none yet.
        """
        numbers = range(1, len(results) + 1)
        return next((number for number in numbers if self.evidence(results[:number]) > 0), None)

    def is_hopeless(self, results: Sequence[bool]) -> bool:
        """Whether a candidate that is not selected yet needs no more runs."""
        enough = math.log(DOUBT / (1 - FALSE_ACCEPTANCE))
        return self.evidence(results) <= enough or len(results) - sum(results) >= MOST_MISSES


def lowered(results: Sequence[bool]) -> RateTest:
    """A test for candidates of an experiment that shows its anomaly less often than good ones, as in these runs."""
    return RateTest(min(GOOD, (sum(results) + 1) / (len(results) + 1.25)))
