"""Running cells: which ones share a run, and which ones are tried again. A stand-in for the harness runs nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import Verdict, judge
from pytest_kafkacheck import ConfigMatrix, Experiment, Run, scenarios
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.matrix.batch import run_cells
from workloads.history.schema import VALUE_BITS
from workloads.history.writer import Writer

LOST = Finding(anomaly="lost-write", count=9, summary="nine")


class FakeHarness:
    """loses: in which runs, from 0, a cell with acks=1 shows its loss."""

    def __init__(self, directory: Path, *, loses: Sequence[int]) -> None:
        self.directory = directory
        self.runs: list[list[str]] = []
        self.judged: list[str] = []
        self._loses = loses

    def record(self, experiment: Experiment) -> Path:
        home = RunDirectory.create(self.directory, name=experiment.name, run=f"{len(self.runs):08x}")
        home.logs.mkdir()
        home.environment.write_text("{}")
        names = [topic.name for topic in experiment.workload.topics(f"{len(self.runs):08x}")]
        self.runs.append(names)
        for process, topic in enumerate(names):
            writer = Writer(home.history, "records", process)
            value = process << VALUE_BITS
            writer.append(run="r", op=value, value=value, index=0, process=process, f="send", type="info",
                          topic=topic, partition=0, invoked=1, completed=2, assignment=0)  # fmt: skip
            writer.close()
        return home.path

    def judge_runs(self, homes: Sequence[Path]) -> list[Run]:
        return [Run(home, self._verdict(home)) for home in homes]

    def _verdict(self, home: Path) -> Verdict:
        experiment = json.loads(RunDirectory(home).experiment.read_text())
        self.judged.append(experiment["name"])
        is_lost = experiment["workload"]["acks"] == 1 and len(self.runs) - 1 in self._loses
        faults = tuple(
            FaultExercised(
                event=each["id"], fault=each["fault"], target="1", effective=True, healed=True, acks_during=5
            )
            for each in experiment["faults"]
        )
        return judge(
            "r", findings=[LOST] if is_lost else [], exercised=Exercised(sends={"ok": 100}, faults=faults)
        )


def run(harness: FakeHarness, tries: int = 3) -> list[Any]:
    matrix = ConfigMatrix(acks=["all", 1]) * scenarios("leader-killed")
    return run_cells(cast(Harness, harness), matrix.cells, tries=tries)


def test_all_cells_share_one_run_and_each_has_its_own_folder(tmp_path: Path) -> None:
    harness = FakeHarness(tmp_path, loses=[0])
    kept, lost = run(harness)
    assert [len(topics) for topics in harness.runs] == [2]
    assert (kept.state, lost.state) == ("as predicted", "as predicted")
    assert harness.judged == ["leader-killed-acks=all", "leader-killed-acks=1"]
    assert len({kept.shown.path, lost.shown.path}) == 2
    segments = [path.name for path in (RunDirectory(Path(lost.shown.path)).history / "segments").iterdir()]
    assert segments == ["records-1-0.arrows"]


def test_only_cells_whose_loss_did_not_occur_are_tried_again(tmp_path: Path) -> None:
    harness = FakeHarness(tmp_path, loses=[2])
    kept, lost = run(harness)
    assert [len(topics) for topics in harness.runs] == [2, 1, 1]
    assert (len(kept.tries), len(lost.tries)) == (1, 3)
    assert lost.state == "as predicted"


def test_a_loss_that_never_occurs_is_not_reproduced(tmp_path: Path) -> None:
    harness = FakeHarness(tmp_path, loses=[])
    _, lost = run(harness)
    assert lost.verdict == "loss not reproduced in 3 tries"
    assert len(harness.runs) == 3
