"""Runs scenarios, on one cluster for all those of equal spec."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_kafkacheck.claims.claim import Claim, Scenario
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import NotExercised
from pytest_kafkacheck.claims.result import ScenarioResult, Try
from pytest_kafkacheck.claims.writer import SEND_ERRORS
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.termination import interrupts_before_errors


def by_cluster(scenarios: Iterable[Scenario]) -> list[Scenario]:
    """In an order that starts as few clusters as possible: those of equal spec follow one another."""
    found = list(scenarios)
    first: dict[str, int] = {}
    for each in found:
        first.setdefault(each.case.cluster.digest, len(first))
    return sorted(found, key=lambda each: first[each.case.cluster.digest])


def run_scenarios(
    harness: Harness,
    scenarios: Sequence[Scenario],
    *,
    tries: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[ScenarioResult]:
    """Each result as soon as it is there, in the order of `by_cluster`. Raises what the start of a cluster raises."""
    for scenario in by_cluster(scenarios):
        shown = []
        for number in range(tries):
            say(f"{scenario.name}{f', try {number + 1}' if tries > 1 else ''}")
            shown.append(run_once(harness, scenario))
            say(f"{shown[-1].outcome}: {shown[-1].seen}")
        yield ScenarioResult(scenario, tuple(shown))


def run_once(harness: Harness, scenario: Scenario) -> Try:
    """Show a claim on a cluster of its spec: the open one where it fits and is healthy."""
    logs = harness.directory / "scenarios" / scenario.name
    with harness.cluster(scenario.case.cluster, logs=logs, alone=True) as cluster:
        shown = show(scenario.claim, cluster, run=harness.run, client=scenario.case.client)
    if shown.error is None:
        return shown
    return replace(shown, seen=f"{shown.seen}; traceback: {_keep_traceback(shown.error, logs)}")


def show(claim: Claim, cluster: AnyCluster, *, run: Callable[[Experiment], Run], client: str = "") -> Try:
    """Show a claim on a running cluster. run: runs and judges an experiment. client: see `Case`."""
    began = time.monotonic()
    try:
        with interrupts_before_errors(), ScenarioContext(cluster, run=run, client=client) as context:
            answer = claim.show(context)
    except (NotExercised, InfrastructureError, *SEND_ERRORS, OSError) as error:
        # A fault without effect or a broker that does not answer says nothing about the claim.
        seen = str(error) if isinstance(error, (NotExercised, InfrastructureError)) else repr(error)
        return Try(outcome="not exercised", seen=seen, seconds=_since(began))
    except Exception as error:  # a mistake in the claim's program, which does not end those of the others
        return Try(outcome="error", seen=repr(error), seconds=_since(began), error=error)
    return Try(
        outcome="confirmed" if answer.holds else "refuted",
        seen=answer.seen,
        seconds=_since(began),
        figures=answer.figures,
        picture=answer.picture,
    )


def _keep_traceback(error: Exception, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "error.txt"
    with file.open("a", encoding="utf-8") as out:  # of all tries
        out.writelines(traceback.format_exception(error))
    return file


def _since(began: float) -> float:
    return round(time.monotonic() - began, 1)
