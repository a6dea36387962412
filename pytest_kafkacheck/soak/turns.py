"""Which cluster of a plan a round has: drawn from the seed, whatever earlier rounds have shown.

In each turn every cluster of the plan serves the same number of rounds in succession, so that releases are balanced
and few clusters have to be started. The order of the clusters and the number of rounds are drawn for each turn.
"""

from __future__ import annotations

import random
from itertools import count

from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.soak.plan import Soak

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
