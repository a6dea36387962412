"""The figures of runs as people read them."""

from __future__ import annotations

NAMES = {
    "acks": "acknowledged",
    "acks_per_second": "acks/s",
    "latency_median": "latency, median",
    "latency_99": "latency, 99 %",
    "longest_wait": "longest wait",
    "worst_lag": "worst lag",
}
"""Fields of `Figures` to what tables call them."""


def figure_text(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    if name in ("acks", "acks_per_second"):
        return f"{value:,.0f}"
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"
