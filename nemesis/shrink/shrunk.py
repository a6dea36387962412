"""The result of a search, and how far it can be relied on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from nemesis.shrink.candidate import C


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
