"""What shrink reports: how often the result reproduces, what else was seen, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from nemesis.shrink.runs import Trial, key_of
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.shrink.folder import ShrinkFolder
from pytest_kafkacheck.shrink.rates import Result, describe, doubts, measured, rate_of


def summary(experiment: Experiment, shrunk: Result, log: Sequence[Trial], folder: ShrinkFolder) -> str:
    """The report at the end of a search that reproduced the anomaly."""
    before, after = len(experiment.schedule.events), len(shrunk.best.schedule.events)
    ended = (
        ""
        if shrunk.complete
        else "; the time was over before everything was tried, call it again to continue"
    )
    seconds = sum(trial.seconds for trial in log)
    lines = [
        f"{before} events became {after} in {len(log)} runs ({seconds:.0f} s){ended}",
        f"reproduced:   {rate_of(shrunk)}",
        *(
            f"  {event.id}: {event.fault.name} {event.target} at {event.at:g} s"
            + ("" if event.fault.momentary else f" for {event.lasting:g} s")
            for event in shrunk.best.schedule.events
        ),
        *(f"  {line}" for line in doubts(shrunk)),
        *(f"  a smaller one, not reliable: {measured(each)}" for each in shrunk.smaller),
        "tried:",
        *(f"  {line}" for line in tried(log)),
        f"as a test:    {folder.test}",
    ]
    return "\n".join(lines)


def interrupted(shrunk: Result, folder: ShrinkFolder) -> str:
    """What an interrupted search leaves."""
    again = "call it again to go on"
    if not shrunk.reproduced:
        return f"no run has shown the anomaly yet; {again}"
    what = f"{describe(shrunk.best)}, see {folder.best}"
    if shrunk.confirmed:
        return f"the smallest confirmed so far, reproduced in {rate_of(shrunk)}, is {what}; {again}"
    return f"none is confirmed yet; the smallest so far, reproduced in {rate_of(shrunk)}, is {what}; {again}"


def not_reproduced(log: Sequence[Trial], shrunk: Result, names: Iterable[str]) -> str:
    what = ", ".join(sorted(names))
    if not log:
        return f"no run was made: {what}"
    unchanged = [trial for trial in log if key_of(trial.candidate) == key_of(shrunk.best.to_json())]
    smaller = "".join(f"\n  a smaller one, not reliable: {measured(each)}" for each in shrunk.smaller)
    return (
        f"{what} did not appear again in {len(unchanged)} runs of the unchanged experiment, which is too rare for "
        f"shrinking. More records per second or longer faults may make it more frequent{smaller}"
    )


def tried(log: Sequence[Trial]) -> list[str]:
    """A line for each candidate, in the order of their first runs: ``2 of 3  no idle time``."""
    ordered: dict[str, list[Trial]] = {}
    for key, group in groupby(log, key=lambda trial: key_of(trial.candidate)):
        ordered.setdefault(key, []).extend(group)
    return [
        f"{sum(trial.reproduced for trial in trials)} of {len(trials)}  {trials[0].why}"
        for trials in ordered.values()
    ]
