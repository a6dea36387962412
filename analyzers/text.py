"""A verdict as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzers.verdict import Exercised, FaultExercised, Finding, Verdict, struck
from workloads.history.schema import VALUE_BITS

HEADLINES = {
    "valid": "VALID: every promise that was checked was kept",
    "invalid": "INVALID: promises were broken",
    "unknown": "UNKNOWN: no promise is known to be broken, but not all could be checked",
}
FIRST = ("op", "process", "session", "value", "other_value", "offset")
VALUES = ("op", "value", "other_value", "read_op")


def render(verdict: Verdict) -> str:
    """Lines of any length, without a line end at the end."""
    return "\n".join(_lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{HEADLINES[verdict.result]}  (run {verdict.run})"
    for finding in verdict.findings:
        yield ""
        yield from _finding(finding)
    if verdict.unknowns:
        yield ""
        yield "What is unknown:"
        yield from (f"  - {sentence}" for sentence in verdict.unknowns)
    yield ""
    yield "What was exercised:"
    yield from (f"  {line}" for line in _exercised(verdict.exercised))


def _finding(finding: Finding) -> Iterator[str]:
    note = ""
    if finding.allowed:
        note = "  [allowed: not judged]"
    elif finding.severity == "unknown":
        note = "  [makes the verdict unknown]"
    elif finding.severity == "note":
        note = "  [note: not judged]"
    yield f"{finding.anomaly}: {finding.count:,} {finding.summary}{note}"
    yield from (f"    {_example(example)}" for example in finding.examples)
    more = finding.count - len(finding.examples)
    if finding.examples and more:
        yield f"    ... and {more:,} more"


def _example(example: Mapping[str, Any]) -> str:
    time, faults = example.get("time"), example.get("faults") or ()
    moment = "at an unknown time" if time is None else f"at {time:.3f} s"
    keys = [key for key in FIRST if key in example]
    keys += [key for key in example if key not in {*FIRST, "topic", "partition", "time", "faults"}]
    if example.get("key") is None:
        keys = [key for key in keys if key != "key"]
    facts = [f"{key.replace('_', ' ')} {_number(key, example[key])}" for key in keys]
    during = f"during {', '.join(faults)}" if faults else "no fault active"
    return f"{moment}  {example['topic']}-{example['partition']}  {'  '.join(facts)}  ({during})"


def _number(key: str, number: float | None) -> str:
    """A value is written as writer:sequence, and so is the send of it. A fraction is s."""
    if number is None:
        return "unknown"
    if isinstance(number, float):
        return f"{number:.3f} s"
    writer = number >> VALUE_BITS
    if key not in VALUES or (key.endswith("op") and writer <= 0):
        return str(number)
    return f"{writer}:{number & ((1 << VALUE_BITS) - 1)}"


def _exercised(exercised: Exercised) -> Iterator[str]:
    total = sum(exercised.sends.values())
    others = ", ".join(f"{exercised.sends.get(kind, 0):,} {kind}" for kind in ("fail", "info"))
    yield f"{total:,} sends: {exercised.acks:,} acknowledged, {others}; {exercised.polls:,} records polled"
    final, session = _types(exercised.final_reads), _types(exercised.session_reads)
    yield f"final reads: {final}; reads of sessions: {session}"
    smallest = "" if exercised.smallest_isr is None else f" (smallest ISR: {exercised.smallest_isr})"
    yield f"leader changes observed: {exercised.leader_changes}; ISR changes: {exercised.isr_changes}{smallest}"
    if not exercised.faults:
        yield "no faults"
    yield from map(_fault, exercised.faults)


def _types(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{counts.get('ok', 0):,} of {total:,} complete" if total else "none"


def _fault(fault: FaultExercised) -> str:
    span = " to ".join("?" if time is None else f"{time:.3f} s" for time in (fault.began, fault.ended))
    proof = " and ".join(
        [
            "took effect" if fault.effective else "did NOT take effect",
            "healed" if fault.healed else "is NOT known to be healed",
        ]
    )
    what = f"{fault.fault} {fault.target}{struck(fault.nodes, fault.processes)}"
    return (
        f"{fault.event}: {what}, {span}, {proof}; acknowledged: "
        f"{fault.acks_before:,} before, {fault.acks_during:,} during, {fault.acks_after:,} after"
    )
