"""The directory of a run: its name, what is in it, and where it cannot be made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from workloads.append_log import AppendLog


@pytest.mark.parametrize(
    ("name", "slug"), [("orders", "orders"), ("test_it[a/b c]", "test_it-a-b-c"), ("x" * 200, "x" * 80)]
)
def test_it_is_named_after_time_experiment_and_run(tmp_path: Path, name: str, slug: str) -> None:
    home = RunDirectory.create(tmp_path / "runs", name=name, run="ab12")
    assert home.path.is_dir()
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{slug}-ab12", home.path.name)
    files = home.experiment, home.environment, home.history, home.logs, home.live, home.verdict
    assert [file.relative_to(home.path).as_posix() for file in files] == [
        "experiment.json", "environment.json", "history", "logs", "live.jsonl", "verdict.json"
    ]  # fmt: skip


def test_the_experiment_is_read_back(tmp_path: Path) -> None:
    home = RunDirectory.create(tmp_path, name="orders", run="ab12")
    experiment = Experiment(workload=AppendLog(), name="orders")
    home.write_experiment(experiment)
    assert home.read_experiment() == experiment
    with pytest.raises(UsageError, match=r"experiment\.json"):
        RunDirectory(tmp_path).read_experiment()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="no run can be kept there"):
        RunDirectory.create(tmp_path / "file", name="orders", run="ab12")
