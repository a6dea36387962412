"""The verdict on a run, as a value."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from analyzers.anomalies.catalogue import ANOMALIES, Severity

Result = Literal["valid", "invalid", "unknown"]

SEVERITIES = get_args(Severity)
"""Worst first."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One kind of anomaly in one run."""

    anomaly: str
    count: int
    """All of them, however few examples there are."""
    summary: str
    allowed: bool = False
    """Reported, not judged."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """The first ones in time. Always: topic, partition, time (s since the run's first operation; null
    while unknown), faults (those active then); else as the catalogue explains for the anomaly."""

    def __post_init__(self) -> None:
        if self.anomaly not in ANOMALIES:
            raise ValueError(f"anomaly: expected one of {', '.join(ANOMALIES)}, got {self.anomaly!r}")
        if self.count < max(1, len(self.examples)):
            raise ValueError(
                f"count: expected at least 1 and the number of examples ({len(self.examples)}), "
                f"got {self.count}"
            )

    @property
    def severity(self) -> Severity:
        return ANOMALIES[self.anomaly].severity


@dataclass(frozen=True, kw_only=True)
class FaultExercised:
    """What one fault event met. Times in s since the run's first operation."""

    event: str
    fault: str
    target: str
    nodes: tuple[int, ...] = ()
    processes: tuple[int, ...] = ()
    """Of clients, where these were struck."""
    effective: bool
    """Proved, when it was injected, to be there."""
    healed: bool
    """Proved, when it was healed, to be gone."""
    began: float | None = None
    ended: float | None = None
    acks_before: int = 0
    """Acknowledged before the injection began."""
    acks_during: int = 0
    """Sent and acknowledged while it surely held: from the end of the injection to the beginning of the healing. What
    was sent earlier may have been replicated earlier, however late its acknowledgement came."""
    acks_after: int = 0
    """Acknowledged after the healing ended."""


@dataclass(frozen=True, kw_only=True)
class Exercised:
    """What the run put to the test: a promise nobody called in is not kept."""

    sends: Mapping[str, int] = field(default_factory=dict)
    """By completion type."""
    polls: int = 0
    """Records polled, those of final reads included."""
    transactions: Mapping[str, int] = field(default_factory=dict)
    """By completion type; committed and aborted ones together."""
    commits: Mapping[str, int] = field(default_factory=dict)
    """Of groups' offsets, by completion type; one per partition."""
    final_reads: Mapping[str, int] = field(default_factory=dict)
    """By completion type; one per attempt on a partition."""
    session_reads: Mapping[str, int] = field(default_factory=dict)
    """By completion type."""
    faults: tuple[FaultExercised, ...] = ()
    leader_changes: int = 0
    isr_changes: int = 0
    smallest_isr: int | None = None
    """Fewest in-sync replicas any broker told of any partition; None when nothing was observed."""

    @property
    def acks(self) -> int:
        return self.sends.get("ok", 0)


@dataclass(frozen=True, kw_only=True)
class LogAvailability:
    """One topic-partition that was sent to. Times in s."""

    topic: str
    partition: int
    longest_wait: float = 0.0
    """Without any acknowledgement while it was sent to; 0 for less than a moment (0.1 s)."""
    began: float | None = None
    """Of the longest wait, since the run's first operation; None where there is none."""
    recovery: float | None = None
    """From the last heal to the first acknowledgement of a send invoked since; None where there is none."""


@dataclass(frozen=True, kw_only=True)
class PhaseAvailability:
    """The sends invoked in one phase of a run. Latencies of acknowledged ones, in s; None where there is none."""

    phase: str
    sends: int
    errors: int
    """Sends that were not acknowledged."""
    latency_median: float | None = None
    latency_99: float | None = None
    latency_worst: float | None = None


@dataclass(frozen=True, kw_only=True)
class Availability:
    """How long clients were kept waiting. Reported; judged only where the experiment states a bound."""

    logs: tuple[LogAvailability, ...] = ()
    phases: tuple[PhaseAvailability, ...] = ()
    """In their order in time; ``start`` is what came before the first one that was told."""
    worst_lag: float | None = None
    """s. The longest time from when a partition was known to go on to when a client that had read it so far
    got more; None where nobody lagged, or nobody read but finally."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Invalid wins over unknown, unknown over valid; notes decide nothing."""

    run: str
    result: Result
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[str, ...] = ()
    """Whatever keeps the run from being called valid, a sentence each."""
    exercised: Exercised = Exercised()
    availability: Availability = Availability()
    notes: tuple[str, ...] = ()
    """What else was not looked for, without any promise depending on it, a sentence each."""

    def __post_init__(self) -> None:
        if self.result not in get_args(Result):
            raise ValueError(f"result: expected {' | '.join(get_args(Result))}, got {self.result!r}")
        expected = _result(self.findings, self.unknowns)
        if self.result != expected:
            raise ValueError(f"result: its findings and unknowns make it {expected}, got {self.result}")

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Raises ValueError or TypeError for anything that `to_json` does not write."""
        data = json.loads(text)
        exercised = data["exercised"]
        faults = tuple(
            FaultExercised(**f | {name: tuple(f[name]) for name in ("nodes", "processes")})
            for f in exercised["faults"]
        )
        for fault in faults:
            _numbers(fault.event, fault.began, fault.ended)
        findings = (Finding(**f | {"examples": tuple(f["examples"])}) for f in data["findings"])
        found = tuple(findings)
        for finding in found:
            for example in finding.examples:
                if not isinstance(example, Mapping):
                    raise TypeError(f"an example of {finding.anomaly}: expected an object, got {example!r}")
                _numbers(finding.anomaly, example.get("time"))
        return cls(
            run=data["run"],
            result=data["result"],
            findings=found,
            unknowns=tuple(data["unknowns"]),
            exercised=Exercised(**exercised | {"faults": faults}),
            availability=_availability(data["availability"]),
            notes=tuple(data["notes"]),
        )

    def text(self) -> str:
        """For people: the result, the findings with examples, what is unknown, what was exercised."""
        # Rendering needs the classes above.
        from analyzers.verdict.text import render

        return render(self)


def judge(
    run: str,
    *,
    findings: Collection[Finding] = (),
    unknowns: Collection[str] = (),
    exercised: Exercised = Exercised(),
    availability: Availability = Availability(),
    notes: Collection[str] = (),
) -> Verdict:
    """The verdict that follows. Findings come out worst first, then in the order of the catalogue."""
    place = {anomaly: number for number, anomaly in enumerate(ANOMALIES)}
    order = sorted(findings, key=lambda f: (f.allowed, SEVERITIES.index(f.severity), place[f.anomaly]))
    return Verdict(
        run=run,
        result=_result(findings, unknowns),
        findings=tuple(order),
        unknowns=tuple(unknowns),
        exercised=exercised,
        availability=availability,
        notes=tuple(notes),
    )


def amended(
    verdict: Verdict,
    *,
    findings: Collection[Finding] = (),
    unknowns: Collection[str] = (),
    allow: Collection[str] = (),
) -> Verdict:
    """The verdict with findings of these anomalies allowed as well, and with what it lacks of these findings (one
    for each anomaly) and unknowns."""
    known = {one.anomaly for one in verdict.findings}
    every = [*verdict.findings, *(one for one in findings if one.anomaly not in known)]
    judged = judge(
        verdict.run,
        findings=[replace(one, allowed=one.allowed or one.anomaly in allow) for one in every],
        unknowns=dict.fromkeys([*verdict.unknowns, *unknowns]),
    )
    return replace(verdict, result=judged.result, findings=judged.findings, unknowns=judged.unknowns)


def _availability(data: Mapping[str, Any]) -> Availability:
    logs = tuple(LogAvailability(**one) for one in data["logs"])
    phases = tuple(PhaseAvailability(**one) for one in data["phases"])
    for log in logs:
        _numbers(f"{log.topic}-{log.partition}", log.longest_wait, log.began, log.recovery)
    for phase in phases:
        _numbers(phase.phase, phase.latency_median, phase.latency_99, phase.latency_worst)
    _numbers("availability", data["worst_lag"])
    return Availability(**{**data, "logs": logs, "phases": phases})


def _numbers(of: str, *times: object) -> None:
    for time in times:
        if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float))):
            raise TypeError(f"a time of {of}: expected a number or null, got {time!r}")


def _result(findings: Collection[Finding], unknowns: Collection[str]) -> Result:
    judged = (finding for finding in findings if not finding.allowed)
    counted = {finding.severity for finding in judged} - {"note"}
    if "invalid" in counted:
        return "invalid"
    return "unknown" if "unknown" in counted or unknowns else "valid"
