"""Applications with one defect each are found with the schedule of docs/pipeline.md, each with its cause and remedy,
and their mended twins are valid. `tests.support.application_defects` runs them repeatedly."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from pytest_kafkacheck.experiment.harness import Harness
from tests.support.application_defects import DEFECTS, Defect, experiment, shown

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("application-defects"),
]


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    folder = tmp_path_factory.mktemp("runs")
    with Harness(folder, say=lambda line: sys.stdout.write(f"{line}\n")) as harness:
        yield harness


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_is_found_with_its_cause_and_remedy(harness: Harness, defect: Defect) -> None:
    run = harness.run(experiment(defect, mended=False))
    assert shown(run, defect, mended=False) == (True, True, True), run.text()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_mended_twin_is_valid(harness: Harness, defect: Defect) -> None:
    harness.run(experiment(defect, mended=True)).assert_valid()
