"""What a run of a cell has shown, against what was expected of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.errors import VerdictError
from pytest_kafkacheck.matrix.cell import Cell

State = Literal["as predicted", "not as predicted", "not reproduced", "not exercised"]
STATES: tuple[State, ...] = ("not as predicted", "not exercised", "not reproduced", "as predicted")
"""The worst one first."""


@dataclass(frozen=True)
class CellResult:
    """tries: what each run showed, the deciding one last. looks: has an entry once a test has looked at the state."""

    cell: Cell
    tries: tuple[Shown, ...]
    looks: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def shown(self) -> Shown:
        return self.tries[-1]

    @property
    def state(self) -> State:
        """A loss that was expected and did not occur is no pass: the cell has shown nothing. Nor is one without proof
        of the fault that should bring it about."""
        shown, expected = self.shown, self.cell.expected
        if expected == "loses" and shown.lost:
            return "not exercised" if shown.unproved else "as predicted"
        if shown.lost or shown.anomalies:
            return "not as predicted"
        if shown.unproved or shown.doubts:
            return "not exercised"
        if expected == "loses":
            return "not reproduced"
        if shown.acks_in_window is not None and (shown.acks_in_window > 0) != (expected == "keeps"):
            return "not as predicted"
        return "as predicted"

    @property
    def needs_another_try(self) -> bool:
        return self.state in ("not reproduced", "not exercised")

    @property
    def guarantee(self) -> str:
        """Such as "kept 1,204 of 1,204", "broken: 510 of 1,373 lost (shown on 3.9.2)", "not exercised: ..."."""
        return f"{self._guarantee}{self._where}"

    @property
    def _where(self) -> str:
        """Part of each text, because what another release does may differ."""
        return "" if self.cell.elsewhere is None else f" (shown on {self.cell.elsewhere})"

    @property
    def _guarantee(self) -> str:
        shown = self.shown
        if shown.lost:
            return f"broken: {shown.lost:,} of {shown.written:,} lost"
        if shown.anomalies:
            return f"broken: {', '.join(shown.anomalies)}"
        if why := (*shown.unproved, *shown.doubts):
            return f"not exercised: {why[0]}"
        return f"kept {shown.written:,} of {shown.written:,}"

    @property
    def verdict(self) -> str:
        """The state with its reason, in one sentence."""
        return f"{self._verdict}{self._where}"

    @property
    def _verdict(self) -> str:
        shown = self.shown
        match self.state:
            case "not reproduced":
                times = "1 try" if len(self.tries) == 1 else f"{len(self.tries)} tries"
                return f"loss not reproduced in {times}"
            case "not as predicted" if not shown.lost and not shown.anomalies:
                was = (
                    f"{shown.acks_in_window:,} writes acknowledged"
                    if shown.acks_in_window
                    else "no write acknowledged"
                )
                return f"not as predicted: {was} during the fault, expected: {self.cell.expected}"
            case "not exercised" if shown.lost:
                return f"not exercised: {shown.lost:,} of {shown.written:,} lost, but {shown.unproved[0]}"
            case "not as predicted":
                return f"not as predicted: {self._guarantee}, expected: {self.cell.expected}"
            case state:
                return state

    def assert_as_predicted(self) -> None:
        """Raise VerdictError unless the cell showed what was expected of it."""
        __tracebackhide__ = True
        self.looks.append("assert")
        if self.state != "as predicted":
            why = "; ".join(self.cell.predicted.why)
            raise VerdictError(
                f"{self.cell.id}: {self.verdict}\n   shown     {self.guarantee}\n   expected  {self.cell.expected}"
                f" ({'stated' if self.cell.stated else why})\n   runs      "
                + ", ".join(each.path for each in self.tries)
            )

    def to_json(self) -> dict[str, Any]:
        cell, shown = self.cell, self.shown
        return {
            "cell": cell.id,
            "scenario": cell.scenario.name,
            "version": cell.version,
            "asked": cell.asked or cell.version,
            "configuration": cell.describe(),
            "expected": cell.expected,
            "why": [] if cell.stated else list(cell.predicted.why),
            "sources": [] if cell.stated else list(cell.predicted.sources),
            "state": self.state,
            "verdict": self.verdict,
            "guarantee": self.guarantee,
            "tries": len(self.tries),
            **shown.to_json(),
        }


def worst_state(results: Sequence[CellResult]) -> State:
    return min((each.state for each in results), key=STATES.index, default="as predicted")


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
