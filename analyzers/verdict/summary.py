"""A verdict in short: one line for people, and one object for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analyzers.verdict.exercised import FaultExercised
from analyzers.verdict.verdict import Verdict
from analyzers.verdict.wording import count, seconds


def one_line(verdict: Verdict) -> str:
    """Such as ``valid  31,951 acked  isolate ✓  1 election  longest wait 3.0 s``."""
    return "  ".join([verdict.result, *_parts(verdict)])


def _parts(verdict: Verdict) -> Iterator[str]:
    exercised = verdict.exercised
    yield f"{exercised.acks:,} acked"
    if exercised.faults:
        yield from map(_fault, exercised.faults)
    else:
        yield "no faults"
    if exercised.leader_changes:
        yield count(exercised.leader_changes, "election")
    waits = [log.longest_wait for log in verdict.availability.logs if log.longest_wait]
    if waits:
        yield f"longest wait {seconds(max(waits))}"
    if (still := verdict.availability.standstill) is not None:
        yield f"standstill {seconds(still.lasted)}"


def _fault(fault: FaultExercised) -> str:
    """A tick for one that certainly took effect and was certainly healed, and met clients at work."""
    if not fault.met_work:
        return f"{fault.verb} ✗ met no work"
    sign = "✓" if fault.effective and fault.healed else "✗"
    return f"{fault.verb} {sign}{f' {fault.in_flight:,} in flight' if fault.in_flight else ''}"


VALID = {"valid": True, "invalid": False, "unknown": "unknown"}


def entry(verdict: Verdict, file: str) -> dict[str, Any]:
    """file: the run's folder. The keys are those that Jepsen uses for the same things."""
    findings = sorted(verdict.findings, key=lambda finding: finding.anomaly)
    bad = [each.anomaly for each in findings if each.severity == "invalid" and not each.allowed]
    return {
        "file": file,
        "run": verdict.run,
        "valid": VALID[verdict.result],
        "error-types": [each.anomaly for each in findings],
        "bad-error-types": bad,
        "errors": {
            each.anomaly: {"count": each.count, "examples": [dict(example) for example in each.examples]}
            for each in findings
        },
        "unknowns": list(verdict.unknowns),
        "causes": [asdict(cause) for cause in verdict.causes],
    }
