"""The figures of a kept run: throughput, latencies and waits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_kafkacheck.kept_runs.run_summary import RunSummary

LOADED = ("steady", "faults", "recovery")
"""Phases of a run in which clients send."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """None: not measured. Times in s."""

    acks: int | None = None
    acks_per_second: float | None = None
    """Acknowledged sends from the first phase to the final reads, by the time between."""
    latency_median: float | None = None
    """Of the phase with the most sends, like the other latency."""
    latency_99: float | None = None
    longest_wait: float | None = None
    """The longest time that any partition went without an acknowledgement."""
    worst_lag: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def figures(run: RunSummary) -> Figures:
    verdict = run.verdict
    availability = verdict.get("availability") or {}
    phases = [each for each in availability.get("phases") or () if isinstance(each, Mapping)]
    main: Mapping[str, Any] = max(phases, key=lambda each: each.get("sends", 0), default={})
    loaded = [each for each in phases if each.get("phase") in LOADED]
    acks = sum(each.get("sends", 0) - each.get("errors", 0) for each in loaded)
    seconds = load_seconds(run.path) if loaded else None
    waits = [each.get("longest_wait") for each in availability.get("logs") or ()]
    sends = (verdict.get("exercised") or {}).get("sends")
    return Figures(
        acks=None if sends is None else sends.get("ok", 0),
        acks_per_second=acks / seconds if seconds else None,
        latency_median=main.get("latency_median"),
        latency_99=main.get("latency_99"),
        longest_wait=max((wait for wait in waits if wait is not None), default=None),
        worst_lag=availability.get("worst_lag"),
    )


def load_seconds(run: Path) -> float | None:
    """From the begin of the first phase to that of the final reads. None where the history does not have them."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    began: dict[str, int] = {}
    try:
        for part in sorted((run / "history" / "operations").glob("*.parquet")):
            table = pq.read_table(part, columns=["f", "invoked", "value"])
            table = table.filter(pc.equal(table["f"], "phase"))
            for invoked, value in zip(table["invoked"].to_pylist(), table["value"].to_pylist(), strict=True):
                began.setdefault(json.loads(value)["phase"], invoked)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None
    first = min((began[phase] for phase in LOADED if phase in began), default=None)
    if first is None or "final" not in began or began["final"] <= first:
        return None
    return (began["final"] - first) / 1e9
