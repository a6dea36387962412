"""A verdict as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.evidence import Number
from analyzers.catalogue.registry import ANOMALIES
from analyzers.history.fault_events import affected
from analyzers.verdict.availability import Availability, PhaseAvailability
from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Finding

HEADLINES = {
    "valid": "VALID: every promise that was checked was kept",
    "invalid": "INVALID: promises were broken",
    "unknown": "UNKNOWN: no promise is known to be broken, but not all could be checked",
}
FIRST = ("op", "process", "session", "value", "other_value", "offset")
"""Evidence that is shown before all other evidence."""

UNDECLARED = Number("evidence of another version", optional=True)


def render(
    *,
    run: str,
    result: str,
    findings: Sequence[Finding],
    unknowns: Sequence[str],
    exercised: Exercised,
    availability: Availability,
    notes: Sequence[str],
    not_exercised: Sequence[str] = (),
) -> str:
    """Lines of any length; the last one has no line end."""
    lines = [f"{HEADLINES[result]}  (run {run})"]
    for finding in findings:
        lines += ["", *_finding(finding)]
    for title, section in (
        ("What is unknown:", [f"- {sentence}" for sentence in unknowns]),
        ("What was exercised:", [*_exercised(exercised)]),
        ("What was not exercised (docs/promises.md):", [", ".join(not_exercised)] if not_exercised else []),
        ("What was not checked (no promise depends on it):", [f"- {sentence}" for sentence in notes]),
        ("Availability:", [*_availability(availability)]),
    ):
        if section:
            lines += ["", title, *(f"  {line}" for line in section)]
    return "\n".join(lines)


def _finding(finding: Finding) -> Iterator[str]:
    effect = ""
    if finding.allowed:
        effect = "  [allowed: not judged]"
    elif finding.severity == "unknown":
        effect = "  [makes the verdict unknown]"
    elif finding.severity == "note":
        effect = "  [note: not judged]"
    yield f"{finding.anomaly}: {finding.count:,} {finding.summary}{effect}"
    yield from (f"    {_example(ANOMALIES[finding.anomaly], example)}" for example in finding.examples)
    more = finding.count - len(finding.examples)
    if finding.examples and more:
        yield f"    ... and {more:,} more"


def _example(anomaly: Anomaly, example: Mapping[str, Any]) -> str:
    time, faults = example.get("time"), example.get("faults") or ()
    moment = "at an unknown time" if time is None else f"at {time:.3f} s"
    shown = {name: anomaly.evidence.get(name, UNDECLARED) for name in [*FIRST, *example] if name in example}
    facts = [
        f"{name.replace('_', ' ')} {kind.to_text(example[name])}"
        for name, kind in shown.items()
        if name not in {*anomaly.subject.columns, "time", "faults"}
        and not (kind.optional and example[name] is None)
    ]
    during = f"during {', '.join(faults)}" if faults else "no fault active"
    return "  ".join([moment, anomaly.about(example), *facts, f"({during})"])


def _exercised(exercised: Exercised) -> Iterator[str]:
    failed, unknown = exercised.sends.get("fail", 0), exercised.sends.get("info", 0)
    yield (
        f"{_count(sum(exercised.sends.values()), 'send')}: {exercised.acks:,} acknowledged, {failed:,} failed, "
        f"{unknown:,} with unknown outcome; {_count(exercised.polls, 'record')} polled"
    )
    final, session = _completed(exercised.final_reads), _completed(exercised.session_reads)
    yield f"final reads: {final}; session reads: {session}"
    if exercised.transactions or exercised.commits:
        transactions, commits = _completed(exercised.transactions), _completed(exercised.commits)
        yield f"transactions: {transactions}; offset commits: {commits}"
    smallest = "" if exercised.smallest_isr is None else f" (smallest ISR: {exercised.smallest_isr})"
    yield f"leader changes observed: {exercised.leader_changes}; ISR changes: {exercised.isr_changes}{smallest}"
    if not exercised.faults:
        yield "no faults"
    yield from map(_fault, exercised.faults)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _completed(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{counts.get('ok', 0):,} of {total:,} completed" if total else "none"


def _fault(fault: FaultExercised) -> str:
    began, ended = (
        "an unknown time" if time is None else f"{time:.3f} s" for time in (fault.began, fault.ended)
    )
    effect = "took effect" if fault.effective else "did NOT take effect"
    healing = "was healed" if fault.healed else "is NOT known to be healed"
    return (
        f"{fault.event}: {fault.fault} {fault.target}{affected(fault.nodes, fault.processes)}, "
        f"from {began} to {ended}, {effect} and {healing}; acknowledged sends: "
        f"{fault.acks_before:,} before, {fault.acks_during:,} during, {fault.acks_after:,} after"
    )


def _availability(availability: Availability) -> Iterator[str]:
    if availability.logs:
        log = max(availability.logs, key=lambda log: log.longest_wait)
        began = "" if log.began is None else f", beginning at {log.began:.3f} s"
        where = f" on {log.topic}-{log.partition}{began}" if log.longest_wait else ""
        yield f"longest time without an acknowledgement: {log.longest_wait:.3f} s{where}"
    recoveries = [log.recovery for log in availability.logs if log.recovery is not None]
    if recoveries:
        yield (
            f"after the last heal, {len(recoveries)} of {len(availability.logs)} partitions acknowledged a new send, "
            f"the last of them after {max(recoveries):.3f} s"
        )
    yield from map(_phase, availability.phases)
    if availability.worst_lag is not None:
        yield f"worst real-time lag of a reader: {availability.worst_lag:.3f} s"


def _phase(phase: PhaseAvailability) -> str:
    rate = f"{_count(phase.sends, 'send')}, {phase.errors / phase.sends:.1%} not acknowledged"
    latencies = {
        "median": phase.latency_median,
        "99th percentile": phase.latency_99,
        "worst": phase.latency_worst,
    }
    known = [f"{name} {time:.3f} s" for name, time in latencies.items() if time is not None]
    return f"phase {phase.phase}: {rate}{'; latency ' + ', '.join(known) if known else ''}"
