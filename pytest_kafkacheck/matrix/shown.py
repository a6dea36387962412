"""What one run of a cell showed, taken from its verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.matrix.cell import Cell

LOST = "lost-write"

FOLLOWS_FROM_LOSS = frozenset({LOST, "offset-reuse", "monotonic-writes", "realtime-order"})
"""Anomalies that a truncated log shows as well."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """path            of the run.
    written         records that the producer took for written: acknowledged, or sent with acks=0.
    lost            those of them that are not in the log at the end.
    anomalies       other ones that are not allowed.
    unproved        why the scenario did not take place as it should: a loss then shows nothing of it either.
    doubts          other reasons for which the run shows less than it should.
    acks_in_window  writes that began and were acknowledged during the scenario's fault; None without one.
    without_acks    the longest time without an acknowledgement, s; None with acks=0.
    throughput      acknowledged records per second while nothing failed; None where the rate was limited.
    latency_median, latency_99  of acknowledged sends before the first fault, s.
    """

    path: str
    written: int
    lost: int
    anomalies: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    acks_in_window: int | None = None
    without_acks: float | None = None
    throughput: float | None = None
    latency_median: float | None = None
    latency_99: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def shown(
    cell: Cell, path: Path, verdict: Verdict, *, unacknowledged: tuple[int, int] | None = None
) -> Shown:
    """unacknowledged: with acks=0, how many records were sent, and how many of them are not in the log."""
    exercised, availability = verdict.exercised, verdict.availability
    found = {each.anomaly: each.count for each in verdict.findings if not each.allowed}
    written, lost = unacknowledged or (exercised.acks, found.get(LOST, 0))
    in_order = sorted(exercised.faults, key=lambda fault: _position(fault.event))
    acks = [in_order[index].acks_during for index in cell.windows] if in_order else []
    phases = {each.phase: each for each in availability.phases}
    steady = phases.get("steady" if cell.scenario.alone else "start")
    waits = [log.longest_wait for log in availability.logs]
    rate = None
    if cell.scenario.rate is None and "steady" in phases:
        rate = (phases["steady"].sends - phases["steady"].errors) / cell.scenario.duration
    return Shown(
        path=str(path),
        written=written,
        lost=lost,
        anomalies=tuple(
            name for name in found if name not in FOLLOWS_FROM_LOSS or (name != LOST and not lost)
        ),
        unproved=(*_faults(verdict), *_isr(cell, verdict)),
        doubts=tuple(verdict.unknowns),
        acks_in_window=sum(acks) if acks else None,
        without_acks=max(waits, default=0.0) if cell.workload.acknowledges else None,
        throughput=rate,
        latency_median=None if steady is None else steady.latency_median,
        latency_99=None if steady is None else steady.latency_99,
    )


def _isr(cell: Cell, verdict: Verdict) -> list[str]:
    """With eligible leader replicas, a partition without a leader may have an empty ISR."""
    least, seen = cell.scenario.smallest_isr, verdict.exercised.smallest_isr
    if least is None or (seen is not None and seen <= least):
        return []
    return [f"the ISR never shrank to {least}; the smallest one that was seen had {seen or 'no'} replicas"]


def _position(event: str) -> int:
    """Of an event in its schedule, which names it so: "kill-2"."""
    return int(event.rpartition("-")[2])


def _faults(verdict: Verdict) -> list[str]:
    return [
        f"{fault.fault} of {fault.target} had no effect"
        for fault in verdict.exercised.faults
        if not fault.effective
    ]
