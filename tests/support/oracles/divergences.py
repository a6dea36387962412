"""The definition of a divergence in plain Python."""

from __future__ import annotations

from tests.support.oracles.rows import Tables
from tests.support.random_histories.divergences import divergence_history


def divergences(tables: Tables) -> int:
    return sum(o["f"] == "divergence" for o in tables["operations"])


RANDOM = divergence_history
ORACLES = {"replica-divergence": divergences}
