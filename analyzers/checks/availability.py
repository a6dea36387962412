"""Writes are taken, and taken again soon after the last fault: as far as an experiment demands it."""

from __future__ import annotations

from analyzers.checks.check import Check


def unavailable(bound: int | str) -> Check:
    """For a bound in ns, or SQL of it; null: no bound."""
    return Check(
        anomaly="unavailable",
        over="waits",
        where=f"lasted > {bound}",
        time="began",
        shows={"began": "began", "lasted": "lasted"},
    )


def slow_recovery(bound: int | str) -> Check:
    """For a bound in ns, or SQL of it; null: no bound."""
    return Check(
        anomaly="slow-recovery",
        over="recoveries",
        where=f"acked_before and lasted > {bound}",
        time="healed",
        shows={"healed": "healed", "lasted": "lasted"},
    )
