"""Histories in which a check would find something if it applied to them: they lack what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.transactions import ONE, READ, observe


def above_the_last_stable_offset_of_others(s: Any) -> Any:
    """No client of the run uses transactions: those that hold the last stable offset back are not of this run."""
    s.send(ONE, 4, at=(10, 90)).poll(ONE, 4, at=(91, 95), **READ)
    return observe(s, 3, 100).final({4: ONE}, end=5, **READ)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {above_the_last_stable_offset_of_others: {}}
