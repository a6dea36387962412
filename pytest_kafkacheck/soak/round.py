"""What one round showed, as the soak's state keeps it: its run may be removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from analyzers.verdict.finding import rank
from analyzers.verdict.promises import PROMISES
from analyzers.verdict.verdict import Verdict
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.soak.draw import Drawn
from pytest_kafkacheck.soak.pairs import Pair, seen

NOT_DETERMINED = "cause not determined"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What one cause has shown: the anomalies, the gravest first; why, in a line; and what to change, where known."""

    anomalies: tuple[str, ...]
    why: str = ""
    change: str = ""


@dataclass(frozen=True, kw_only=True)
class Round:
    """number, draw   with the soak's seed, they give the experiment again.
    seconds        it took, with its judgement.
    path           name of the run's folder; empty where nothing was recorded.
    effective, without_effect   number of events by fault.
    promises       those that it exercised.
    unknowns       reasons why nothing is known, a sentence each.
    causes         what the findings came from, by name: those that one change prevents are one, in all rounds.
    at_work        the faults that were active during findings whose cause is not determined.
    shrunk         what shrinking said; None where it was not shrunk.
    """

    number: int
    draw: int
    workload: str
    version: str
    result: Literal["valid", "invalid", "unknown"]
    seconds: float
    path: str = ""
    headline: str = ""
    effective: Mapping[str, int] = field(default_factory=dict)
    without_effect: Mapping[str, int] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    promises: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    causes: Mapping[str, Shown] = field(default_factory=dict)
    at_work: tuple[str, ...] = ()
    shrunk: str | None = None

    @classmethod
    def of(cls, number: int, drawn: Drawn, run: Run, seconds: float) -> Self:
        verdict = run.verdict
        faults = verdict.exercised.faults
        return cls(
            **_about(number, drawn),
            result=verdict.result,
            seconds=round(seconds, 1),
            path=run.path.name,
            headline=verdict.headline(),
            effective=dict(Counter(each.fault for each in faults if each.effective)),
            without_effect=dict(Counter(each.fault for each in faults if not each.effective)),
            pairs=tuple(sorted(seen(verdict.exercised, drawn.experiment.workload))),
            promises=exercised_promises(verdict),
            unknowns=verdict.unknowns,
            causes=causes_of(verdict),
            at_work=at_work(verdict),
        )

    @classmethod
    def failed(cls, number: int, drawn: Drawn, problem: Exception, seconds: float, *, path: str) -> Self:
        """A round that recorded nothing to judge. path: what it left, such as the logs of brokers."""
        return cls(
            **_about(number, drawn),
            result="unknown",
            seconds=round(seconds, 1),
            path=path,
            headline=f"not run: {problem}",
            unknowns=(f"not run: {problem}",),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Raises TypeError or KeyError for an object that `to_json` did not write."""
        tuples = {name: tuple(data[name]) for name in ("promises", "unknowns", "at_work")}
        pairs = tuple((fault, state) for fault, state in data["pairs"])
        causes = {
            name: Shown(**{**shown, "anomalies": tuple(shown["anomalies"])})
            for name, shown in data["causes"].items()
        }
        return cls(**{**data, **tuples, "pairs": pairs, "causes": causes})


def _about(number: int, drawn: Drawn) -> dict[str, Any]:
    experiment: Experiment = drawn.experiment
    return {
        "number": number,
        "draw": drawn.draw,
        "workload": type(experiment.workload).__name__,
        "version": experiment.cluster.version,
    }


def exercised_promises(verdict: Verdict) -> tuple[str, ...]:
    """Names of the promises that a run put to the test."""
    exercised = verdict.exercised
    return tuple(
        name
        for name, promise in PROMISES.items()
        if promise.concerns(exercised) and promise.missing(exercised) is None
    )


def causes_of(verdict: Verdict) -> dict[str, Shown]:
    """By name, such as ``acks=1``. One that is not determined has the name of its gravest anomaly: which others there
    are differs from run to run, although they came from the same."""
    counted = {each.anomaly for each in verdict.findings if not each.allowed and each.severity == "invalid"}
    causes = {}
    for cause in verdict.causes:
        if found := sorted(cause.findings.keys() & counted, key=rank):
            name = cause.title if cause.is_determined else f"{found[0]}, {NOT_DETERMINED}"
            causes[name] = Shown(anomalies=tuple(found), why=cause.why, change=cause.change)
    if counted and not causes:
        found = sorted(counted, key=rank)
        return {found[0]: Shown(anomalies=tuple(found))}
    return causes


def at_work(verdict: Verdict) -> tuple[str, ...]:
    """Names of the faults that were active during findings whose cause is not determined."""
    events = {event for cause in verdict.causes if not cause.is_determined for event in cause.faults}
    return tuple(sorted({each.fault for each in verdict.exercised.faults if each.event in events}))
