"""What the rounds of a soak can reach, and what none of them has reached."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from nemesis.generate import drawn_targets, weights_on
from nemesis.registry import FAULTS
from nemesis.targets import Target
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.soak.draw import varied
from pytest_kafkacheck.soak.pairs import AT, IN_SYNC, RECOVERING, UNDER, WITH, Pair, aimed_at, of_clients
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.round import Round
from workloads.workload import Workload

VARIANTS = 30
"""Draws of the values of each workload. What is drawn more rarely is not counted as within reach."""

KINDS = {
    "": "no fault began",
    AT: "no fault was aimed at",
    UNDER: "no fault while clients used",
    WITH: "no fault with the client library",
}
"""How the summary names circumstances that were not reached, by their prefix."""


def unreached(plan: Soak, rounds: Sequence[Round]) -> Mapping[str, tuple[str, ...]]:
    """What no effective fault of any round has met, by what it is, in words; nothing where all was reached."""
    within = set(reachable(plan))
    met = {pair for each in rounds for pair in each.pairs}
    faults = {fault for fault, _ in within} - {fault for fault, _ in met}
    circumstances = {each for _, each in within} - {each for _, each in met}
    missing = {"faults without any effect": tuple(sorted(faults))}
    for prefix, text in KINDS.items():
        missing[text] = tuple(
            sorted(each.removeprefix(prefix) for each in circumstances if _prefix(each) == prefix)
        )
    return {text: names for text, names in missing.items() if names}


def reachable(plan: Soak) -> Iterator[Pair]:
    """Pairs, as in `pairs`, of which each fault and each circumstance that the plan can bring about is in one."""
    for cluster in plan.clusters:
        for workload in plan.workloads_of(cluster):
            variants = set(_variants(plan, workload, cluster))
            for name, circumstances in _faults(plan, Experiment(workload=workload, cluster=cluster)):
                yield from ((name, each) for each in (*circumstances, *variants))


def _variants(plan: Soak, workload: Workload, cluster: ClusterSpec) -> Iterator[str]:
    for number in range(VARIANTS):
        yield from of_clients(varied(plan, workload, cluster, random.Random(number)))


def _faults(plan: Soak, experiment: Experiment) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Faults that may be drawn there, with the circumstances."""
    wanted, topology = plan.generated(seed=0, events=plan.events[1]), experiment.topology
    for name in weights_on(wanted, topology):
        fault = FAULTS[name]
        for target in map(Target.parse, drawn_targets(fault, wanted, topology)):
            with suppress(ValueError):
                fault(**fault.draw.options[0]).check(topology, target)
                yield name, (IN_SYNC, RECOVERING, f"during {fault.family}", *aimed_at(target))


def _prefix(circumstance: str) -> str:
    return next((each for each in KINDS if each and circumstance.startswith(each)), "")
