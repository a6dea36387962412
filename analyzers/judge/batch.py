"""Judges many run directories in one Spark application; one that cannot be judged does not affect the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.catalogue.bounds import NONE, Bounds
from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.history import remote
from analyzers.history.run_progress import no_phases
from analyzers.history.sources import Location, is_uri, name_of
from analyzers.history.surroundings import NONE as NOTHING_ELSE
from analyzers.history.surroundings import Surroundings
from analyzers.history.validate import BadHistory, cut_segments, doubts, run_ids
from analyzers.judge.failures import without_py4j_log
from analyzers.judge.isolation import Sessions, judge_isolated
from analyzers.verdict.exercised import NOTHING
from analyzers.verdict.promises import of_default, unmet
from analyzers.verdict.verdict import Verdict, amended, judge

MOST_RUNS = 2_000
"""Directories that are judged together at most. What Spark broadcasts and returns to the driver has some rows for
each run, so this bounds both, however many runs there are."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run directory that is to be judged, and how."""

    home: Location
    bounds: Bounds = NONE
    """How long clients may be kept waiting."""
    allow: frozenset[str] = frozenset()
    """Anomalies that are reported without effect on the result."""
    requires: frozenset[str] | None = frozenset()
    """Promises without which the verdict is unknown, unless the run exercised them. None: nobody says what the run is
    about, so its operations do (see `Promise.by_default`)."""
    is_single: bool = False
    """Whether the directory must hold one run only."""
    schedule: Mapping[str, str] | None = None
    """The fault events that the run was to carry out: id to a name for messages. None if that is not known."""
    surroundings: Surroundings = NOTHING_ELSE
    problem: str | None = None
    """Why it is already known that the directory cannot be judged."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    home: Location
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By run id. A directory with a problem has one verdict, unknown, under the directory's name."""
    problem: str | None = None
    """File, row and reason, if the directory cannot be judged."""


def judge_batch(
    sessions: Sessions,
    cases: Sequence[Case],
    *,
    examples: int = 8,
    checks: Sequence[Check] = CHECKS,
) -> list[Judged]:
    """Judge run directories; the result has the same order.

    If an analysis crashes, for example out of memory, its runs are judged in halves, then one by one, then check by
    check. A check that still crashes makes the run unknown, with the reason; the findings of the other checks count.
    """
    runs: dict[Location, frozenset[str]] = {}
    problems = {case.home: case.problem for case in cases if case.problem is not None}
    homes = [home for home in dict.fromkeys(case.home for case in cases) if home not in problems]
    with ThreadPoolExecutor(remote.AT_ONCE, thread_name_prefix="kafkacheck-validation") as pool:
        # Reading local files in several threads would not be faster.
        answers = {home: pool.submit(_run_ids, sessions, home) for home in homes if is_uri(home)}
        for home in homes:
            try:
                runs[home] = answers[home].result() if home in answers else _run_ids(sessions, home)
            except BadHistory as error:
                problems[home] = str(error)
    for case in cases:
        if case.is_single and len(several := runs.get(case.home, ())) > 1:
            found = ", ".join(sorted(several))
            problems[case.home] = f"{case.home}: the history holds several runs ({found}), expected one"
            del runs[case.home]
    bounds = {case.home: case.bounds for case in cases if case.bounds != NONE}
    known = {case.home: case.surroundings for case in cases}
    verdicts: dict[Location, dict[str, Verdict]] = {}
    with without_py4j_log():
        for group in without_shared_runs(runs):
            by_run = {run: bounds[home] for home in group if home in bounds for run in runs[home]}
            of_group = {home: runs[home] for home in group}
            verdicts |= judge_isolated(
                sessions,
                of_group,
                examples=examples,
                checks=checks,
                bounds=by_run,
                surroundings={run: known[home] for home in group for run in runs[home]},
            )
    return [
        _unjudged(case, problems[case.home])
        if case.home in problems
        else Judged(home=case.home, verdicts=_completed(sessions, case, verdicts[case.home]))
        for case in cases
    ]


def _run_ids(sessions: Sessions, home: Location) -> frozenset[str]:
    """The run ids of its verdicts. Tables without rows name no run; their verdict has the directory's name."""
    ids = remote.run_ids(sessions(), str(home)) if is_uri(home) else run_ids(Path(home))
    return ids or frozenset([name_of(home)])


def _unjudged(case: Case, problem: str) -> Judged:
    name = name_of(case.home)
    verdict = judge(name, unknowns=[f"The history cannot be judged: {problem}"])
    return Judged(home=case.home, verdicts={name: verdict}, problem=problem)


def without_shared_runs(runs: Mapping[Location, frozenset[str]]) -> Iterator[list[Location]]:
    """The directories in groups of at most `MOST_RUNS`. Two directories with the same run id, such as a copy, are
    never in one group: judged together, each row would count twice."""
    rest = list(runs)
    while rest:
        group: list[Location] = []
        later: list[Location] = []
        seen: set[str] = set()
        for home in rest:
            if len(group) == MOST_RUNS or seen & runs[home]:
                later.append(home)
            else:
                group.append(home)
                seen |= runs[home]
        yield group
        rest = later


def _completed(sessions: Sessions, case: Case, verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """With the allowed anomalies, and with an unknown if the history is incomplete, or for each promise that was
    required and not exercised."""
    home = case.home
    cuts = remote.cut_segments(sessions(), str(home)) if is_uri(home) else cut_segments(Path(home))
    unknowns = [] if is_uri(home) else [*doubts(Path(home))]
    if cuts:
        unknowns.append(
            f"The history is incomplete: the segments {', '.join(cuts)} end within a batch, so the last rows "
            f"written to them are missing."
        )
    return {
        run: amended(
            verdict,
            unknowns=[*unknowns, *_unrecorded(case, verdict), *_not_exercised(case, verdict)],
            allow=case.allow,
        )
        for run, verdict in verdicts.items()
    }


def _not_exercised(case: Case, verdict: Verdict) -> Sequence[str]:
    """The required promises that the run did not exercise. Nothing can be said where the analysis crashed."""
    if verdict.exercised == NOTHING:
        return ()
    requires = of_default(verdict.not_exercised) if case.requires is None else case.requires
    return unmet(verdict.exercised, requires)


def _unrecorded(case: Case, verdict: Verdict) -> Iterator[str]:
    """What a run with a known schedule must have recorded, and has not. Both are counted by the analysis, so nothing
    can be said where it crashed."""
    if case.schedule is None or verdict.exercised == NOTHING:
        return
    recorded = {fault.event for fault in verdict.exercised.faults}
    for event, name in case.schedule.items():
        if event not in recorded:
            yield f"The fault {name} ({event}) of the schedule has no record: it may not have been carried out."
    if verdict.exercised.phase is None:
        yield no_phases()
