"""What a round of a soak is: which process runs it, on which cluster, and with which experiment.

All three depend on the soak's seed and the round's number. The experiment depends also on what was not seen yet.
In each turn every cluster of the plan serves the same number of rounds in succession, so that releases are balanced
and few clusters have to be started. The order of the clusters and the number of rounds are drawn for each turn.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.validation import check_cluster
from pytest_kafkacheck.soak.pairs import Pair, planned
from pytest_kafkacheck.soak.plan import Soak, fields_of
from workloads.workload import Workload

CANDIDATES = 20
"""Experiments that are drawn for a round, of which the one with the most new pairs is run. After 20 rounds of the
preset `safe`, they have planned 60 pairs; 40 candidates 61, 10 candidates 56, and a single one 38."""


TRIES = 20
"""Draws of the values of one candidate."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A round's experiment. draw: which of its candidates, for `candidate`."""

    experiment: Experiment
    draw: int


def draw(plan: Soak, seed: int, number: int, seen: Collection[Pair]) -> Drawn:
    """The round of that number, counted from 1. Of several candidates, the one that shows the most pairs that are not
    in `seen`. Raises UsageError when the plan allows none."""
    cluster, workload = _turn(plan, seed, number)
    best: tuple[int, Drawn] | None = None
    for attempt in range(CANDIDATES):
        try:
            experiment = _candidate(plan, cluster, workload, f"{seed}/{number}/{attempt}", number)
        except ValueError as error:  # values that exclude each other, or a schedule without any event
            problem = error
            continue
        fresh = len(planned(experiment) - set(seen))
        if best is None or fresh > best[0]:
            best = fresh, Drawn(experiment=experiment, draw=attempt)
    if best is None:
        raise UsageError(f"round {number}: none of {CANDIDATES} draws is possible: {problem}") from problem
    return best[1]


def candidate(plan: Soak, seed: int, number: int, attempt: int) -> Experiment:
    """One of the candidates of a round; always the same one. Raises ValueError where it is not possible."""
    return _candidate(plan, *_turn(plan, seed, number), f"{seed}/{number}/{attempt}", number)


def drawn_earlier(plan: Soak, seed: int, number: int, stored: Mapping[str, Any]) -> Drawn | None:
    """The candidate of a round whose experiment was stored as this JSON; None where it is none of them."""
    for attempt in range(CANDIDATES):
        with suppress(ValueError):
            experiment = candidate(plan, seed, number, attempt)
            if json.loads(json.dumps(experiment.to_json())) == stored:
                return Drawn(experiment=experiment, draw=attempt)
    return None


def _turn(plan: Soak, seed: int, number: int) -> tuple[ClusterSpec, Workload]:
    """All candidates of a round have these: what was not seen yet decides neither the release nor the workload."""
    cluster = cluster_of(plan, seed, number)
    workloads = plan.workloads_of(cluster)
    return cluster, workloads[(number - 1) % len(workloads)]


def _candidate(plan: Soak, cluster: ClusterSpec, workload: Workload, stream: str, number: int) -> Experiment:
    rng = random.Random(stream)
    workload = varied(plan, workload, cluster, rng)
    events = rng.randint(*plan.events)
    return Experiment(
        name=f"round-{number}",
        workload=workload,
        cluster=cluster,
        faults=plan.generated(seed=rng.getrandbits(32), events=events),
        budget=plan.budget,
        warm_up=plan.warm_up,
        cooldown=plan.cooldown,
        seed=rng.getrandbits(32),
    )


def varied(plan: Soak, workload: Workload, cluster: ClusterSpec, rng: random.Random) -> Workload:
    """The workload with values that the plan varies.

    Raises ValueError where all that are drawn exclude each other, or need what a library or the cluster lacks.
    """
    own = set(fields_of(workload))
    for _ in range(TRIES):
        values = {name: rng.choice(values) for name, values in plan.vary.items() if name in own}
        try:
            drawn = replace(workload, **values) if values else workload  # type: ignore[type-var]
            check_cluster(drawn, cluster)
            return drawn
        except ValueError as error:
            problem = error
    raise problem


SHORTEST, LONGEST = 4, 12
"""Rounds in succession on one cluster. Four take some four minutes; another cluster starts in some 10 s."""


def cluster_of(plan: Soak, seed: int, number: int) -> ClusterSpec:
    """Of the round with that number, counted from 1."""
    first = 1
    for turn in count(1):
        rng = random.Random(f"{seed}/turn {turn}")
        rounds = rng.randint(SHORTEST, LONGEST)
        order = rng.sample(plan.clusters, len(plan.clusters))
        if number < first + rounds * len(order):
            return order[(number - first) // rounds]
        first += rounds * len(order)
    raise AssertionError("turns have no end")


@dataclass(frozen=True)
class Part:
    """The rounds of cluster `cluster` (from 1) of `of`. Of two clusters, the first has the rounds 1, 3, 5 and so on.

    What a round draws depends on its number, and not on how many clusters there are.
    """

    cluster: int = 1
    of: int = 1

    def has(self, number: int) -> bool:
        return (number - self.cluster) % self.of == 0

    def next(self, taken: Container[int]) -> int:
        """The lowest number of a round that is not taken."""
        return next(number for number in count(self.cluster, self.of) if number not in taken)


WHOLE = Part()
