"""What the rounds of a soak showed, all together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from analyzers.verdict.finding import rank
from pytest_kafkacheck.soak.pairs import Pair
from pytest_kafkacheck.soak.round import NOT_DETERMINED, Round

EMPTY: Mapping[str, Any] = {}

FIGURES = re.compile(r"\b[0-9a-f]{8}\b|\d[\d,]*(\.\d+)?")
"""What differs between two sentences that give the same reason: ids of runs, and numbers."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """cause: equal for findings that one change prevents. anomalies: of all rounds, the gravest first.
    why, change: as of `Shown`. path: of the first run. shrunk: what shrinking it said.
    at_work: the faults that were active in any of the rounds; empty where the cause is determined."""

    cause: str
    anomalies: tuple[str, ...]
    why: str
    change: str
    rounds: tuple[int, ...]
    path: str
    shrunk: str | None
    at_work: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """reason: of the first of these rounds, with its figures."""

    reason: str
    rounds: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Counts are of rounds, and those of faults of events. seconds: for which the soak has run."""

    seed: int
    seconds: float
    rounds: int
    results: dict[str, int]
    workloads: dict[str, int]
    versions: dict[str, int]
    faults: dict[str, tuple[int, int]]
    """Effective, and without effect."""
    promises: dict[str, int]
    pairs: dict[Pair, int]
    unknowns: tuple[Unknown, ...]
    findings: tuple[Finding, ...]
    never: Mapping[str, tuple[str, ...]]
    """What no round has reached, see `reach.unreached`."""
    left_out: Mapping[str, str]
    """Faults that this host cannot do, with the reason."""

    def to_json(self) -> dict[str, Any]:
        faults = {
            name: {"effective": good, "without_effect": bad} for name, (good, bad) in self.faults.items()
        }
        pairs = [
            {"fault": fault, "state": state, "rounds": times} for (fault, state), times in self.pairs.items()
        ]
        return {**asdict(self), "faults": faults, "pairs": pairs}


def summarized(
    rounds: Sequence[Round],
    *,
    seed: int,
    seconds: float,
    never: Mapping[str, tuple[str, ...]] = EMPTY,
    left_out: Mapping[str, str] = EMPTY,
) -> Summary:
    effective = _counted(name for each in rounds for name in _times(each.effective))
    without = _counted(name for each in rounds for name in _times(each.without_effect))
    return Summary(
        seed=seed,
        seconds=round(seconds, 1),
        rounds=len(rounds),
        results={
            name: sum(each.result == name for each in rounds) for name in ("valid", "invalid", "unknown")
        },
        workloads=_counted(each.workload for each in rounds),
        versions=_counted(each.version for each in rounds),
        faults={
            name: (effective.get(name, 0), without.get(name, 0)) for name in sorted({*effective, *without})
        },
        promises=_counted(name for each in rounds for name in each.promises),
        pairs=dict(sorted(Counter(pair for each in rounds for pair in each.pairs).items())),
        unknowns=_unknowns(rounds),
        findings=_findings(rounds),
        never=dict(never),
        left_out=dict(left_out),
    )


def _times(counts: Any) -> Iterable[str]:
    return Counter(counts).elements()


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _unknowns(rounds: Sequence[Round]) -> tuple[Unknown, ...]:
    """The reasons of rounds of which nothing is known, the most frequent first. Figures do not tell them apart."""
    found: dict[str, tuple[str, list[int]]] = {}
    for each in rounds:
        if each.result == "unknown":
            for reason in each.unknowns or (each.headline,):
                found.setdefault(FIGURES.sub("#", reason), (reason, []))[1].append(each.number)
    ordered = sorted(found.values(), key=lambda entry: -len(entry[1]))
    return tuple(Unknown(reason=reason, rounds=tuple(sorted(numbers))) for reason, numbers in ordered)


def _findings(rounds: Sequence[Round]) -> tuple[Finding, ...]:
    found: dict[str, list[Round]] = {}
    for each in rounds:
        for cause in each.causes:
            found.setdefault(cause, []).append(each)
    return tuple(
        Finding(
            cause=cause,
            anomalies=tuple(sorted({name for each in of for name in each.causes[cause].anomalies}, key=rank)),
            why=of[0].causes[cause].why,
            change=of[0].causes[cause].change,
            rounds=tuple(sorted(each.number for each in of)),
            path=of[0].path,
            shrunk=next((each.shrunk for each in of if each.shrunk), None),
            at_work=tuple(sorted({name for each in of for name in each.at_work}))
            if cause.endswith(NOT_DETERMINED)
            else (),
        )
        for cause, of in found.items()
    )
