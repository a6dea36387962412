"""How pytest-xdist divides the tests between its workers: each file is one unit of work, but the tests of Spark are
one together, those that run experiments are another one, and those on clusters that several files share a third.

The tests of one worker share one Spark and one cluster. A cold JVM costs about 10 s, and as much again until it has
compiled what judges a history, so no more than two workers start one: the first two, for these two units. With both
in one, a worker was alone with it for the last quarter of the time. The longest units begin first. The many short
ones come last and keep the workers busy until the end. The second worker ends before: its clusters would run idle
meanwhile, and three brokers take a fifth of a core.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[2]

SPARK = "tests/spark"

LONG = (SPARK, "examples", "tests/cluster", "tests/cluster/faults", "tests/acceptance")
"""Folders whose units begin first, in this order."""

EXPERIMENTS = "experiments"
"""The unit of the files whose tests run experiments, and judge them in their own process."""

RUNS = ("examples", "tests/cluster")
"""Folders in which a test that runs an experiment takes this fixture, or this harness."""

FIXTURE = re.compile(r"^def test_\w+\(\s*(kafkacheck\b|cluster: DockerCluster, harness\b)", re.MULTILINE)

BROKERS = "brokers"
"""The unit of the files whose tests share clusters with other files: a worker starts each of these once."""

SHARED = re.compile(r"\b(cluster|disks|secured): DockerCluster\b")

OTHERS = tuple(f"tests/cluster/test_{name}.py" for name in ("attach", "workload_command"))
"""Files whose tests judge without it, and stop Spark, which then begins anew: they come last in their unit."""

LOW = 10
"""Niceness of the light worker and of what its tests start."""


def unit(nodeid: str) -> str:
    """The unit of work that a test belongs to."""
    file = nodeid.partition("::")[0]
    if folder(file) == SPARK:
        return SPARK
    if runs_experiments(file):
        return EXPERIMENTS
    return BROKERS if shares_clusters(file) else file


@cache
def runs_experiments(file: str) -> bool:
    """Whether tests of a file judge experiments in their own process."""
    return folder(file) in RUNS and (file in OTHERS or bool(FIXTURE.search((ROOT / file).read_text())))


@cache
def shares_clusters(file: str) -> bool:
    """Whether tests of a file take a cluster that tests of other files use as well."""
    return file.startswith("tests/cluster/") and bool(SHARED.search((ROOT / file).read_text()))


def folder(nodeid: str) -> str:
    """The folder of a test's file."""
    return str(PurePosixPath(nodeid.partition("::")[0]).parent)


def is_light(scope: str) -> bool:
    """Whether a unit needs neither a cluster nor Spark."""
    return scope not in (SPARK, EXPERIMENTS, BROKERS) and folder(scope) not in LONG


def is_light_worker(name: str, workers: int) -> bool:
    """Whether a worker takes light units only: from three workers on, the last one does. name: as xdist calls it."""
    return workers >= 3 and name == f"gw{workers - 1}"


def takes(name: str, workers: int, scope: str) -> bool:
    """Whether a worker takes a unit. From three workers on, the second one takes those that are not light."""
    if is_light_worker(name, workers):
        return is_light(scope)
    return workers < 3 or name != "gw1" or not is_light(scope)


def rank(nodeid: str) -> int:
    """Sort key for the order in which units begin, and tests in their unit."""
    place = folder(nodeid)
    return LONG.index(place) if place in LONG and nodeid.partition("::")[0] not in OTHERS else len(LONG)


class WorkUnits(LoadScopeScheduling):  # type: ignore[misc]
    """The scheduler of xdist that keeps a scope on one worker, with the units above as scopes.

    Units begin in the order in which their tests were collected. The light worker runs at a low priority: it uses the
    time in which the tests of the others wait, and no more clusters run at once than without it.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def schedule(self) -> None:
        # Otherwise xdist begins with the units that have the most tests: here these are the fastest.
        self.config.option.loadscopereorder = False
        super().schedule()

    def _assign_work_unit(self, node: Any) -> None:
        name = node.gateway.id
        scope = next((each for each in self.workqueue if takes(name, self.numnodes, each)), None)
        if scope is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)
