"""Each line of Kafka starts in each of its shapes, the demo shows its two verdicts, and nodes move to the next line.

By day, `test_topologies` starts the oldest line, 3.7 and the newest. With the environment variable
KAFKACHECK_RELEASE_RESULTS, what was found is put into that file, from which docs/generate makes the table of
docs/versions.md.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import AppendLog, Experiment, upgrade
from pytest_kafkacheck.cli.demo import experiments
from pytest_kafkacheck.cluster.docker import lifecycle
from pytest_kafkacheck.cluster.docker.attach import attached
from pytest_kafkacheck.cluster.docker.compose import compose_file
from pytest_kafkacheck.cluster.spec.moves import next_release
from pytest_kafkacheck.cluster.spec.release import RELEASES, Release
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.setup.image_build import prepare
from tests.support.compose_project import NEEDS_COMPOSE, composed
from tests.support.real_cluster import round_of, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(600)]

RESULTS = "KAFKACHECK_RELEASE_RESULTS"

SHAPES: dict[str, dict[str, Any]] = {
    "combined": {},
    "controllers": {"controllers": 3},
    "zookeeper": {"zookeepers": 1},
}


def shapes(release: Release) -> list[str]:
    return [shape for shape in SHAPES if (release.zookeeper if shape == "zookeeper" else release.kraft)]


CELLS = [
    pytest.param(release, shape, id=f"{release.tested}-{shape}")
    for release in RELEASES.values()
    for shape in shapes(release)
]


@pytest.mark.parametrize(("release", "shape"), CELLS)
def test_both_verdicts_of_the_demo(
    harness: Harness, engine: Any, tmp_path: Path, release: Release, shape: str
) -> None:
    spec = ClusterSpec(version=release.tested, **SHAPES[shape])
    prepare(engine, spec, harness.say)
    begun = time.monotonic()
    with harness.cluster(spec, logs=tmp_path):
        seconds = time.monotonic() - begun
    losing, keeping = (harness.run(replace(each, cluster=spec)) for each in experiments())
    note(
        spec.version, shape, {"seconds": round(seconds, 1), "losing": seen(losing), "keeping": seen(keeping)}
    )
    losing.assert_invalid("lost-write")
    keeping.assert_valid()


MOVING = [
    pytest.param(release, shape, id=f"{release.tested}-{shape}")
    for release in RELEASES.values()
    for shape in shapes(release)
    if next_release(ClusterSpec(version=release.tested, **SHAPES[shape])) is not None
]


@pytest.mark.parametrize(("release", "shape"), MOVING)
def test_nodes_move_to_the_next_line_and_back_under_load(
    harness: Harness, release: Release, shape: str
) -> None:
    """Separate controllers move first, as Kafka's documentation has it, and back last."""
    spec = ClusterSpec(version=release.tested, **SHAPES[shape])
    nodes = [*(["controllers"] if spec.controllers else []), "all"]
    there = [upgrade(target, at=2 + 20 * number) for number, target in enumerate(nodes)]
    back = [
        upgrade(target, to=spec.version, at=50 + 20 * number) for number, target in enumerate(reversed(nodes))
    ]
    run = harness.run(
        Experiment(
            workload=AppendLog(topic_config={"min.insync.replicas": 2}), cluster=spec, faults=[*there, *back]
        )
    )
    note(spec.version, shape, {"moved": {"to": next_release(spec), "result": run.result}})
    run.assert_valid()


@NEEDS_COMPOSE
@pytest.mark.parametrize(
    "spec",
    [
        ClusterSpec(version=RELEASES[line].tested, zookeepers=0 if RELEASES[line].kraft else 1)
        for line in ("3.0", "3.3", "3.7", "4.0", "4.4")
    ],
    ids=lambda spec: spec.version,
)
def test_a_compose_file_is_attached_to(engine: Any, tmp_path: Path, spec: ClusterSpec) -> None:
    prepare(engine, spec, print)
    file = tmp_path / "compose.yml"
    file.write_text(compose_file(spec))
    with composed(engine, str(file), version=spec.version) as project:

        def answers() -> bool:
            with suppress(UsageError, InfrastructureError), attached(engine, f"compose:{project}"):
                return True
            return False

        wait_until(answers, limit=120)
        with attached(engine, f"compose:{project}") as cluster:
            assert sorted(cluster.nodes) == list(spec.nodes)
            controller = cluster.controller()
            assert controller is not None
            cluster.nodes[controller].kill()
            wait_until(lambda: cluster.controller() not in (None, controller))
            cluster.nodes[controller].start()
            lifecycle.wait_settled(cluster)
            round_of(cluster)


def seen(run: Run) -> dict[str, Any]:
    lost = sum(each.count for each in run.verdict.findings if each.anomaly == "lost-write")
    return {"result": run.result, "acks": run.verdict.exercised.acks, "lost": lost}


def note(version: str, shape: str, found: dict[str, Any]) -> None:
    if (path := os.environ.get(RESULTS)) is None:
        return
    results = json.loads(Path(path).read_text())
    earlier = results.get(version, {})
    shapes = {**earlier, shape: {**earlier.get(shape, {}), **found}}
    known = [release.tested for release in RELEASES.values()]
    results[version] = {each: shapes[each] for each in SHAPES if each in shapes}
    Path(path).write_text(
        json.dumps({each: results[each] for each in known if each in results}, indent=1) + "\n"
    )
