"""What checks find with their facts computed in full, and from what narrowing leaves."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.catalogue.check import Check
from analyzers.history.load import History
from analyzers.judge.find import Found, find
from analyzers.judge.prefilter import Suspects


def found(history: History, checks: Sequence[Check], *, narrowed: bool) -> list[Found]:
    """With the evidence of all examples."""
    suspects = Suspects(checks=checks if narrowed else (), runs={})
    each, crashed = find(history, checks, examples=1_000, strict=True, prefilter=lambda *_: suspects)
    assert not crashed
    return sorted(each, key=lambda one: (one.anomaly, one.run))
