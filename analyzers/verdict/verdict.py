"""The verdict on a run, as a value."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, get_args

import msgspec

from analyzers.history.surroundings import Unit
from analyzers.verdict.exercised import NOTHING, Exercised
from analyzers.verdict.finding import Cause, Finding, rank
from analyzers.verdict.measures import NOT_MEASURED, Availability, Propagation, Staleness
from analyzers.verdict.promises import not_exercised
from analyzers.verdict.text import headline, render

Result = Literal["valid", "invalid", "unknown"]

FORMAT = 1
"""Of verdict.json. Another number says that a key was removed or means something else; adding one keeps it
(docs/verdict.md)."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Invalid takes precedence over unknown, and unknown over valid."""

    run: str
    result: Result
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[str, ...] = ()
    """A sentence for each reason why the run cannot be called valid."""
    exercised: Exercised = NOTHING
    availability: Availability = NOT_MEASURED
    staleness: Staleness | None = None
    """How late sessions read what they had written; None unless a role is said to do so (`WorkerRole.reads_own`)."""
    propagation: Propagation | None = None
    """How long changes of leaders took to reach all brokers; None without a change that two brokers named."""
    notes: tuple[str, ...] = ()
    """A sentence for each thing that was not checked and on which no promise depends. Without effect on the
    result."""
    not_exercised: tuple[str, ...] = ()
    """The promises (see `analyzers.verdict.promises`) that the run is about and did not exercise. Those that the
    experiment requires are also among the unknowns."""
    clients: Mapping[int, str] = field(default_factory=dict)
    """Names of client processes, such as ``producer 0``, by process number; those whose role is recorded."""
    causes: tuple[Cause, ...] = ()
    """What the findings came from; every finding of a check is under exactly one of them."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of the topics and the producers, as far as they are recorded and the same for all."""
    unit: Unit = "s"
    """In which times are shown: that of an imported file, if it is a small one."""
    began: int | None = None
    """Of the run's first operation: CLOCK_MONOTONIC of the host in ns. All times count from there."""

    def __post_init__(self) -> None:
        if self.result not in get_args(Result):
            raise ValueError(f"result: expected {' | '.join(get_args(Result))}, got {self.result!r}")
        expected = _result(self.findings, self.unknowns)
        if self.result != expected:
            raise ValueError(f"result: its findings and unknowns make it {expected}, got {self.result}")

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Keys that this version does not know are left out; those that an earlier version did not write have their
        defaults. Raises ValueError or TypeError for text that `to_json` did not write."""
        data = json.loads(text)
        if not isinstance(data, dict):
            raise TypeError(f"expected an object, got {type(data).__name__}")
        if (found := data.get("format", FORMAT)) != FORMAT:
            raise ValueError(f"format {found!r}: this version reads format {FORMAT}")
        try:
            verdict = msgspec.convert(data, cls, str_keys=True)
        except msgspec.ValidationError as error:
            raise TypeError(str(error)) from error
        for finding in verdict.findings:
            for example in finding.examples:
                if not isinstance(time := example.get("time"), int | float | None):
                    raise TypeError(f"a time of {finding.anomaly}: expected a number or null, got {time!r}")
        return verdict

    @property
    def deciding(self) -> Finding | None:
        """The worst finding that makes the run invalid; None where it is not."""
        decides = (each for each in self.findings if not each.allowed and each.severity == "invalid")
        return next(decides, None)

    def headline(self) -> str:
        """The result and the reason for it, in one line."""
        return headline(run=self.run, result=self.result, findings=self.findings, unknowns=self.unknowns)

    def text(self) -> str:
        """In full: the result, the findings with examples, what is unknown, what was exercised, availability."""
        return render(
            run=self.run,
            result=self.result,
            findings=self.findings,
            unknowns=self.unknowns,
            exercised=self.exercised,
            availability=self.availability,
            staleness=self.staleness,
            propagation=self.propagation,
            notes=self.notes,
            not_exercised=self.not_exercised,
            clients=self.clients,
            unit=self.unit,
        )


def judge(
    run: str,
    *,
    findings: Collection[Finding] = (),
    unknowns: Collection[str] = (),
    exercised: Exercised = NOTHING,
    availability: Availability = NOT_MEASURED,
    staleness: Staleness | None = None,
    propagation: Propagation | None = None,
    notes: Collection[str] = (),
    clients: Mapping[int, str] | None = None,
    causes: Collection[Cause] = (),
    settings: Mapping[str, str] | None = None,
    unit: Unit = "s",
    began: int | None = None,
) -> Verdict:
    """The verdict that follows from these. Its findings are sorted: worst first, then as in the catalogue."""
    order = sorted(findings, key=lambda finding: (finding.allowed, rank(finding.anomaly)))
    return Verdict(
        run=run,
        result=_result(findings, unknowns),
        findings=tuple(order),
        unknowns=tuple(unknowns),
        exercised=exercised,
        availability=availability,
        staleness=staleness,
        propagation=propagation,
        notes=tuple(notes),
        not_exercised=not_exercised(exercised),
        clients=dict(clients or {}),
        causes=tuple(causes),
        settings=dict(settings or {}),
        unit=unit,
        began=began,
    )


def amended(
    verdict: Verdict,
    *,
    findings: Collection[Finding] = (),
    unknowns: Collection[str] = (),
    allow: Collection[str] = (),
) -> Verdict:
    """The verdict with more findings and unknowns, and with the anomalies in `allow` allowed as well.

    A finding of an anomaly that the verdict has a finding of already is ignored, and so is an unknown that it has.
    """
    known = {finding.anomaly for finding in verdict.findings}
    every = [*verdict.findings, *(finding for finding in findings if finding.anomaly not in known)]
    judged = judge(
        verdict.run,
        findings=[replace(each, allowed=each.allowed or each.anomaly in allow) for each in every],
        unknowns=dict.fromkeys([*verdict.unknowns, *unknowns]),
    )
    return replace(verdict, result=judged.result, findings=judged.findings, unknowns=judged.unknowns)


def _result(findings: Collection[Finding], unknowns: Collection[str]) -> Result:
    severities = {finding.severity for finding in findings if not finding.allowed}
    if "invalid" in severities:
        return "invalid"
    return "unknown" if "unknown" in severities or unknowns else "valid"
