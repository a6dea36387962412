"""Record runs on real clusters, and store of them what the tests need."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from analyzers.history.surroundings import Clock, log_lines
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from tests.support.recordings.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[3]
RUNS = ROOT / "tests" / "data" / "runs"
ENVIRONMENT = ("kafkacheck", "clients", "python", "clock", "layout")
"""What is kept: addresses and the host are of no use later."""

ANY_TIME = Clock(monotonic=0, unix=0, began=0)


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Harness(Path(folder), say=print) as harness:
        for name in names:
            run = harness.run(EXPERIMENTS[name])
            sys.stdout.write(f"{run.text()}\n")
            store(run.path, RUNS / name)


def store(run: Path, home: Path) -> None:
    """Copy a run: its history, how it is judged, and what the brokers printed about elections and cuts of its log."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    source, target = RunDirectory(run), RunDirectory(home)
    shutil.copytree(source.history, target.history)
    environment = json.loads(source.environment.read_text())
    kept = {name: environment[name] for name in ENVIRONMENT if name in environment}
    target.environment.write_text(json.dumps(kept, indent=2) + "\n")
    experiment = json.loads(source.experiment.read_text())
    workload = experiment["workload"]
    if "file" in workload:
        workload["file"] = str(Path(workload["file"]).relative_to(ROOT))
    target.experiment.write_text(json.dumps(experiment, indent=2) + "\n")
    topic = source.read_experiment().workload.main_topic(run.name.rpartition("-")[2])
    logs = [f"{topic}-{partition}" for partition in range(2)]
    target.logs.mkdir()
    for name, file in source.node_logs().items():
        lines = [line for line in file.read_text().splitlines() if is_shown(line, logs)]
        (target.logs / f"{name}.log").write_text("".join(f"{line}\n" for line in lines))


def is_shown(line: str, logs: list[str]) -> bool:
    """Whether `kafkacheck explain` would show the line of a broker's log."""
    return any(log_lines("", [line], ANY_TIME, logs=logs, first=float("-inf"), last=float("inf")))


if __name__ == "__main__":
    main(sys.argv[1:] or list(EXPERIMENTS))
