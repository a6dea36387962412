"""A verdict as text: in one line, and in full with every finding and its examples, what was exercised, and
availability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.catalogue.anomaly import Anomaly, Evidence, Number, Span, Value
from analyzers.catalogue.registry import ANOMALIES
from analyzers.history.fault_events import affected
from analyzers.history.surroundings import Unit
from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Finding
from analyzers.verdict.measures import Availability, PhaseAvailability, Propagation, Staleness
from analyzers.verdict.wording import TimeScale, client_name, count, scale_of, seconds, write_name
from workloads.history.schema import VALUE_BITS

MOST_NAMED = 4
"""Anomalies that are named; a terminal's line holds about as many."""


def headline(*, run: str, result: str, findings: Sequence[Finding], unknowns: Sequence[str]) -> str:
    """Such as ``INVALID lost-write ×3,623, offset-reuse ×3,623 (run afd28129)``."""
    reason = reasons(result=result, findings=findings, unknowns=unknowns)
    return " ".join([result.upper(), *([reason] if reason else []), f"(run {run})"])


def reasons(*, result: str, findings: Sequence[Finding], unknowns: Sequence[str]) -> str:
    """The anomalies that decide the result, with their counts; for an unknown one also the first sentence. Empty for
    a valid one."""
    deciding = [each for each in findings if each.severity == result and not each.allowed]
    named = ", ".join(f"{each.anomaly} ×{each.count:,}" for each in deciding[:MOST_NAMED])
    if len(deciding) > MOST_NAMED:
        named += f" and {count(len(deciding) - MOST_NAMED, 'other')}"
    if result != "unknown" or not unknowns:
        return named
    first = unknowns[0].rstrip(".")
    more = f" and {count(len(unknowns) - 1, 'more reason')}" if len(unknowns) > 1 else ""
    return "; ".join([*([named] if named else []), first + more])


FIRST = ("value", "other_value", "op", "process", "session", "offset")
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
    staleness: Staleness | None = None,
    propagation: Propagation | None = None,
    notes: Sequence[str],
    not_exercised: Sequence[str] = (),
    clients: Mapping[int, str],
    unit: Unit = "s",
) -> str:
    """Lines of any length; the last one has no line end.

    clients  names of processes, see `client_names`.
    """
    lines = [headline(run=run, result=result, findings=findings, unknowns=unknowns)]
    scale = scale_of((each.get("time") for finding in findings for each in finding.examples), unit)
    for finding in findings:
        lines += ["", *_finding(finding, clients, scale)]
    for title, section in (
        ("What is unknown:", [f"- {sentence}" for sentence in unknowns]),
        ("What was exercised:", [*_exercised(exercised)]),
        ("What was not exercised (docs/anomalies.md):", [", ".join(not_exercised)] if not_exercised else []),
        ("What was not checked (no promise depends on it):", [f"- {sentence}" for sentence in notes]),
        ("Availability:", [*_availability(availability)]),
        ("Changes of leaders:", [*_propagation(propagation)]),
        ("Own writes of sessions:", [*_staleness(staleness)]),
    ):
        if section:
            lines += ["", title, *(f"  {line}" for line in section)]
    return "\n".join(lines)


def _finding(finding: Finding, clients: Mapping[int, str], scale: TimeScale) -> Iterator[str]:
    effect = ""
    if finding.allowed:
        effect = "  [allowed: not judged]"
    elif finding.severity == "unknown":
        effect = "  [makes the verdict unknown]"
    elif finding.severity == "note":
        effect = "  [note: not judged]"
    yield f"{finding.anomaly}: {finding.count:,} {finding.summary}{effect}"
    yield from (
        f"    {_example(ANOMALIES[finding.anomaly], example, clients, scale)}" for example in finding.examples
    )
    more = finding.count - len(finding.examples)
    if finding.examples and more:
        yield f"    ... and {more:,} more"


def _example(
    anomaly: Anomaly, example: Mapping[str, Any], clients: Mapping[int, str], scale: TimeScale
) -> str:
    time, faults = example.get("time"), example.get("faults") or ()
    moment = "at an unknown time" if time is None else f"at {scale.text(time)}"
    shown = {name: anomaly.evidence.get(name, UNDECLARED) for name in [*FIRST, *example] if name in example}
    facts = [
        _fact(name, kind, example[name], clients)
        for name, kind in shown.items()
        if name not in {*anomaly.subject.columns, "time", "faults"}
        and not (kind.optional and example[name] is None)
        and not _is_repeated(name, example)
    ]
    during = f"during {', '.join(faults)}" if faults else "no fault active"
    return "  ".join([moment, anomaly.about(example), *facts, f"({during})"])


def _fact(name: str, kind: Evidence, value: Any, clients: Mapping[int, str]) -> str:
    """One item of evidence, with clients and writes named as people think of them. JSON has the plain numbers."""
    label = name.replace("_", " ")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{label} {kind.to_text(value)}"
    if isinstance(kind, Span):
        return f"{label} {seconds(value)}"
    if name == "process" and isinstance(value, int):
        return client_name(value, clients)
    if isinstance(kind, Value) and isinstance(value, int) and kind.names_write(value):
        # "value" and "op" add nothing to the words; another label, such as "other value", does.
        return ("" if name in ("value", "op") else f"{label} ") + write_name(value, clients)
    return f"{label} {kind.to_text(value)}"


def _is_repeated(name: str, example: Mapping[str, Any]) -> bool:
    """Whether the name of the written value says it already: its number is that of its send, and it names the
    writer."""
    value = example.get("value")
    if not isinstance(value, int) or value < 0:
        return False
    return (name == "op" and example["op"] == value) or (
        name == "process" and example["process"] == value >> VALUE_BITS
    )


def _exercised(exercised: Exercised) -> Iterator[str]:
    failed, unknown = exercised.sends.get("fail", 0), exercised.sends.get("info", 0)
    yield (
        f"{count(sum(exercised.sends.values()), 'send')}: {exercised.acks:,} acknowledged, {failed:,} failed, "
        f"{unknown:,} with unknown outcome; {count(exercised.polls, 'record')} polled"
    )
    final, session = _completed(exercised.final_reads), _completed(exercised.session_reads)
    yield f"final reads: {final}; session reads: {session}"
    if exercised.rereads:
        yield f"steps back to read again: {_completed(exercised.rereads)}"
    if exercised.snapshots:
        yield f"snapshots of all accounts: {exercised.whole_snapshots:,} of {exercised.snapshots:,} completed"
    if exercised.inspections:
        yield f"topics described by brokers: {_completed(exercised.inspections)}"
    if exercised.comparisons:
        yield f"partitions whose replicas were compared: {_completed(exercised.comparisons)}"
    if exercised.transactions or exercised.commits:
        transactions, commits = _completed(exercised.transactions), _completed(exercised.commits)
        yield f"transactions: {transactions}; offset commits: {commits}"
    smallest = "" if exercised.smallest_isr is None else f" (smallest ISR: {exercised.smallest_isr})"
    yield f"leader changes observed: {exercised.leader_changes}; ISR changes: {exercised.isr_changes}{smallest}"
    if not exercised.faults:
        yield "no faults"
    yield from map(_fault, exercised.faults)


def _completed(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{counts.get('ok', 0):,} of {total:,} completed" if total else "none"


def _fault(fault: FaultExercised) -> str:
    began, ended = (
        "an unknown time" if time is None else seconds(time) for time in (fault.began, fault.ended)
    )
    effect = "took effect" if fault.effective else "did NOT take effect"
    healing = "was healed" if fault.healed else "is NOT known to be healed"
    whole = "" if fault.whole is None else f", all replicas in sync at {seconds(fault.whole)}"
    return (
        f"{fault.event}: {fault.name}{affected(fault.nodes, fault.processes, fault.clients, fault.target)}, "
        f"from {began} to {ended}, {effect} and {healing}{whole}; acknowledged sends: "
        f"{fault.acks_before:,} before, {fault.acks_during:,} during, {fault.acks_after:,} after"
    )


def _availability(availability: Availability) -> Iterator[str]:
    if availability.logs:
        log = max(availability.logs, key=lambda log: log.longest_wait)
        began = "" if log.began is None else f", beginning at {seconds(log.began)}"
        where = f" on {log.topic}-{log.partition}{began}" if log.longest_wait else ""
        yield f"longest time without an acknowledgement: {seconds(log.longest_wait)}{where}"
    recoveries = [log.recovery for log in availability.logs if log.recovery is not None]
    if recoveries:
        yield (
            f"after the last heal, {len(recoveries)} of {len(availability.logs)} partitions acknowledged a new send, "
            f"the last of them after {seconds(max(recoveries))}"
        )
    if (still := availability.standstill) is not None:
        began = "" if still.began is None else f", beginning at {seconds(still.began)}"
        shown = "" if still.by == "outputs" else " (by its committed positions)"
        yield (
            f"longest time without an output of the application while inputs waited: {seconds(still.lasted)} on "
            f"{still.topic}-{still.partition}{began}{shown}"
        )
    yield from map(_phase, availability.phases)
    if availability.worst_lag is not None:
        yield f"worst real-time lag of a reader: {seconds(availability.worst_lag)}"


def _staleness(staleness: Staleness | None) -> Iterator[str]:
    if staleness is None:
        return
    yield (
        f"{count(staleness.writes, 'acknowledged write')}; the session's next read of the partition missed "
        f"{staleness.missed:,} of {staleness.reads:,}; never read: {staleness.unseen:,}"
    )
    if known := _times(staleness):
        yield f"from the acknowledgement to the session's first read of the write: {known}"


def _propagation(propagation: Propagation | None) -> Iterator[str]:
    if propagation is None:
        return
    yield f"{count(propagation.changes, 'new leader epoch')} observed by two or more brokers"
    if known := _times(propagation):
        log = f"{propagation.topic}-{propagation.partition}"
        slowest = f"{log}, epoch {propagation.leader_epoch}, broker {propagation.node}"
        yield f"until all brokers that answered had named it, at most: {known} ({slowest})"
    if propagation.open:
        yield f"not named by all of them at the end: {propagation.open:,}"


def _times(of: Staleness | Propagation) -> str:
    times = {"median": of.median, "90th percentile": of.percentile_90, "longest": of.longest}
    return ", ".join(f"{name} {time * 1000:,.0f} ms" for name, time in times.items() if time is not None)


def _phase(phase: PhaseAvailability) -> str:
    rate = f"{count(phase.sends, 'send')}, {phase.errors / phase.sends:.1%} not acknowledged"
    if phase.skipped:
        rate += f", {phase.skipped:,} more were due and left out"
    latencies = {
        "median": phase.latency_median,
        "99th percentile": phase.latency_99,
        "worst": phase.latency_worst,
    }
    known = [f"{name} {seconds(time)}" for name, time in latencies.items() if time is not None]
    return f"phase {phase.phase}: {rate}{'; latency ' + ', '.join(known) if known else ''}"
