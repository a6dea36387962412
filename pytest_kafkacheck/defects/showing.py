"""Shows defects on releases that have them, and on those in which they are mended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_kafkacheck.claims.claim import Scenario, all_scenarios
from pytest_kafkacheck.claims.run import run_once
from pytest_kafkacheck.defects.table import Defect
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.soak.clusters import Clusters
from pytest_kafkacheck.soak.limits import Limits
from pytest_kafkacheck.soak.plan import PRESETS, Soak, with_client, with_versions
from pytest_kafkacheck.soak.round import Round
from pytest_kafkacheck.soak.soak import soak
from pytest_kafkacheck.soak.state import SoakFolder

TRIES = 3

How = Literal["directed", "blind"]
Outcome = Literal["found", "nothing", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What one release showed of a defect.

    release     of the broker or the client that has the defect or the mend.
    is_control  whether the defect is mended in it.
    outcome     ``unknown`` where no try exercised what the defect needs.
    seconds     until the finding, or for all tries.
    tries       runs, or rounds of the soak.
    seen        the anomalies, the gravest first; of a claim what it saw.
    path        folder of the run with the finding.
    """

    defect: str
    how: How
    release: str
    is_control: bool
    outcome: Outcome
    seconds: float
    tries: int
    seen: str = ""
    path: str = ""

    @property
    def is_as_expected(self) -> bool:
        return self.outcome == ("nothing" if self.is_control else "found")

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "as_expected": self.is_as_expected}


def releases(defect: Defect) -> Iterator[tuple[str, bool]]:
    """Those on which it is shown, and whether it is mended there."""
    yield defect.release, False
    if defect.control is not None:
        yield defect.control, True


class _Try(NamedTuple):
    outcome: Outcome
    seen: str
    path: str = ""


def directed(harness: Harness, defect: Defect, *, tries: int = TRIES, report: Say) -> Iterator[Shown]:
    """By its claim, or by its schedule, on each release; up to so many times until something is found."""
    for release, is_control in releases(defect):
        report(f"{defect.id} on {release}{' (mended)' if is_control else ''}")
        began, shown = time.monotonic(), list[_Try]()
        while len(shown) < tries and not (shown and shown[-1].outcome == "found"):
            shown.append(_once(harness, defect, release))
        decisive = next((each for each in reversed(shown) if each.outcome != "unknown"), shown[-1])
        yield Shown(
            defect=defect.id,
            how="directed",
            release=release,
            is_control=is_control,
            outcome=decisive.outcome,
            seconds=round(time.monotonic() - began, 1),
            tries=len(shown),
            seen=decisive.seen,
            path=decisive.path if decisive.outcome == "found" else "",
        )


def _once(harness: Harness, defect: Defect, release: str) -> _Try:
    if defect.claim:
        shown = run_once(harness, scenario_of(defect, release))
        outcomes: dict[str, Outcome] = {"refuted": "found", "confirmed": "nothing"}
        return _Try(outcomes.get(shown.outcome, "unknown"), shown.seen)
    assert defect.schedule is not None
    try:
        run = harness.run(replace(defect.schedule(release), name=f"{defect.id}-{release}"))
    except InfrastructureError as error:
        return _Try("unknown", str(error))
    if seen := anomalies_in(run, defect):
        return _Try("found", ", ".join(seen), run.path.name)
    is_known = run.result == "valid"
    return _Try("nothing", "") if is_known else _Try("unknown", "; ".join(run.verdict.unknowns))


def anomalies_in(run: Run, defect: Defect) -> list[str]:
    """Those that a run has shown: what makes it invalid, and what the defect shows where that is a note, because
    Kafka documents it."""
    severities = {each.anomaly: each.severity for each in run.verdict.findings if not each.allowed}
    notes = {name for name in defect.anomalies if severities.get(name) == "note"}
    return [name for name, severity in severities.items() if severity == "invalid" or name in notes]


def scenario_of(defect: Defect, release: str) -> Scenario:
    """Of its claim, on the cluster or with the client of that release."""
    cases = [each for each in all_scenarios() if each.claim.id == defect.claim]
    if defect.of == "java":
        cases = [each for each in cases if each.case.client == release]
    return next(each for each in cases if defect.of == "java" or each.case.cluster.version == release)


def blind_plan(defect: Defect, release: str) -> Soak:
    """The preset `safe` on that release only, or with that client only."""
    plan = PRESETS["safe"].plan()
    if defect.of == "broker":
        return with_versions(plan, [release])
    library = {"java": "java", "librdkafka": "confluent-kafka"}[defect.of]
    return with_client(plan, library, release if defect.of == "java" else None)


def blind(
    directory: Path, defect: Defect, *, minutes: float, seed: int = 1, report: Say, **options: Any
) -> Iterator[Shown]:
    """A soak on each release, until it finds something or the time is over. options: of `Clusters`."""
    for release, is_control in releases(defect):
        report(f"{defect.id} on {release}{' (mended)' if is_control else ''}: a soak of {minutes:g} min")
        folder = SoakFolder(directory / f"defect-{defect.id}-{release}-{seed}")
        with folder.locked(), Clusters(folder.path, **options) as lab:
            plan, _ = lab.fitted(blind_plan(defect, release))
            lab.check(plan)
            limits = Limits(seconds=60 * minutes, stop_after=1)
            state = soak(plan, lab, folder, limits, seed=seed, say=report)
        yield _of_soak(defect, release, state.rounds, seconds=state.seconds, is_control=is_control)


def _of_soak(
    defect: Defect, release: str, rounds: tuple[Round, ...], *, seconds: float, is_control: bool
) -> Shown:
    found = next((each for each in rounds if each.result == "invalid"), None)
    is_exercised = any(each.result == "valid" for each in rounds)
    return Shown(
        defect=defect.id,
        how="blind",
        release=release,
        is_control=is_control,
        outcome="found" if found is not None else "nothing" if is_exercised else "unknown",
        seconds=seconds,
        tries=len(rounds),
        seen=""
        if found is None
        else ", ".join(name for shown in found.causes.values() for name in shown.anomalies),
        path="" if found is None else found.path,
    )
