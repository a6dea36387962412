"""A verdict in one line: the result, and why."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.verdict.finding import Finding
from analyzers.verdict.wording import count

MOST = 4
"""Anomalies that are named; a terminal's line holds about as many."""


def headline(*, run: str, result: str, findings: Sequence[Finding], unknowns: Sequence[str]) -> str:
    """Such as ``INVALID lost-write ×3,623, offset-reuse ×3,623 (run afd28129)``."""
    reason = reasons(result=result, findings=findings, unknowns=unknowns)
    return " ".join([result.upper(), *([reason] if reason else []), f"(run {run})"])


def reasons(*, result: str, findings: Sequence[Finding], unknowns: Sequence[str]) -> str:
    """The anomalies that decide the result, with their counts; for an unknown one also the first sentence. Empty for
    a valid one."""
    deciding = [each for each in findings if each.severity == result and not each.allowed]
    named = ", ".join(f"{each.anomaly} ×{each.count:,}" for each in deciding[:MOST])
    if len(deciding) > MOST:
        named += f" and {count(len(deciding) - MOST, 'other')}"
    if result != "unknown" or not unknowns:
        return named
    first = unknowns[0].rstrip(".")
    more = f" and {count(len(unknowns) - 1, 'more reason')}" if len(unknowns) > 1 else ""
    return "; ".join([*([named] if named else []), first + more])
