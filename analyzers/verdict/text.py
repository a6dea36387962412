"""A verdict as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzers.history.fault_events import affected
from analyzers.verdict.verdict import Availability, Exercised, FaultExercised, Finding, Verdict
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
    if verdict.notes:
        yield ""
        yield "What was not looked for:"
        yield from (f"  - {sentence}" for sentence in verdict.notes)
    if lines := list(_availability(verdict.availability)):
        yield ""
        yield "How available it was:"
        yield from (f"  {line}" for line in lines)


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
    if exercised.transactions or exercised.commits:
        transactions, commits = _types(exercised.transactions), _types(exercised.commits)
        yield f"transactions: {transactions}; commits of offsets: {commits}"
    smallest = "" if exercised.smallest_isr is None else f" (smallest ISR: {exercised.smallest_isr})"
    yield f"leader changes observed: {exercised.leader_changes}; ISR changes: {exercised.isr_changes}{smallest}"
    if not exercised.faults:
        yield "no faults"
    yield from map(_fault, exercised.faults)


def _availability(availability: Availability) -> Iterator[str]:
    if availability.logs:
        log = max(availability.logs, key=lambda log: log.longest_wait)
        where = f" on {log.topic}-{log.partition}" + (
            "" if log.began is None else f", from {log.began:.3f} s on"
        )
        yield f"longest time without an acknowledgement: {log.longest_wait:.3f} s{where if log.longest_wait else ''}"
    again = [log.recovery for log in availability.logs if log.recovery is not None]
    if again:
        yield (
            f"after the last heal {len(again)} of {len(availability.logs)} partitions acknowledged again, "
            f"the last one after {max(again):.3f} s"
        )
    for phase in availability.phases:
        rates = f"{phase.phase}: {phase.sends:,} sends, {phase.errors / phase.sends:.1%} not acknowledged"
        latencies = (phase.latency_median, phase.latency_99, phase.latency_worst)
        names = ("median", "99 %", "worst")
        told = [
            f"{name} {time:.3f} s" for name, time in zip(names, latencies, strict=True) if time is not None
        ]
        yield f"{rates}; {', '.join(told)}" if told else rates
    if availability.worst_lag is not None:
        yield f"worst real-time lag: {availability.worst_lag:.3f} s"


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
    what = f"{fault.fault} {fault.target}{affected(fault.nodes, fault.processes)}"
    return (
        f"{fault.event}: {what}, {span}, {proof}; acknowledged: "
        f"{fault.acks_before:,} before, {fault.acks_during:,} during, {fault.acks_after:,} after"
    )
