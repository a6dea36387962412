"""Shrinking with a function in place of runs, which decides what an experiment shows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

import pytest_kafkacheck as api
from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Finding
from analyzers.verdict.verdict import judge
from nemesis.event import Event
from nemesis.shrink.rate import MOST_MISSES
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment import harness
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.shrink.candidate import COOLDOWN
from pytest_kafkacheck.shrink.evidence import evidence
from pytest_kafkacheck.shrink.shrink import shrink
from workloads.append_log import AppendLog

LOST = Finding(
    anomaly="lost-write",
    count=7,
    summary="7 lost",
    examples=tuple({"topic": "log-r", "partition": 0, "time": time, "faults": []} for time in (12.5, 13.0)),
)
FAULTS = (
    api.kill("follower", at=1, lasting=3),
    api.pause("controller", at=6, lasting=2),
    api.isolate("leader", at=10, lasting=8),
    api.loss("one", at=11, lasting=3, percent=50),
    api.restart("follower", at=25),
    api.kill("one", at=30, lasting=4),
)


def began(event: Event) -> FaultExercised:
    return FaultExercised(
        event=event.id,
        fault=event.fault.name,
        target=str(event.target),
        effective=True,
        healed=True,
        began=event.at,
        ended=event.end,
    )


def invalid_run(home: Path) -> Path:
    """A run of six events, the third of which loses writes."""
    run = home / "first"
    run.mkdir()
    experiment = Experiment(name="six", workload=AppendLog(acks=1), faults=FAULTS, seed=3)
    (run / "experiment.json").write_text(json.dumps(experiment.to_json()))
    (run / "environment.json").write_text(
        json.dumps({"layout": {"0": [2, 3, 1], "1": [3, 1, 2], "2": [1, 2, 3]}})
    )
    exercised = Exercised(faults=tuple(map(began, experiment.schedule.events)))
    RunDirectory(run).write_verdict(judge("r", findings=[LOST], exercised=exercised))
    return run


@dataclass
class Lab:
    """Stands for runs: an experiment loses writes when it isolates the leader for 2 s or more."""

    home: Path
    before: Callable[[int], None] = lambda _: None
    failing: Callable[[int], bool] = lambda _: False
    """Whether a step of that run fails after the load has begun."""
    ran: list[Experiment] = field(default_factory=list)
    now: float = 0.0

    def __call__(self, experiment: Experiment, names: Sequence[str] = ("lost-write",)) -> Run:
        assert names == ("lost-write",)
        self.before(len(self.ran))
        self.now += 15 + experiment.schedule.length
        self.ran.append(experiment)
        home = self.home / f"try-{len(self.ran)}"
        home.mkdir(parents=True)
        loses = any(
            event.fault.name == "isolate" and event.lasting >= 2 for event in experiment.schedule.events
        )
        # Another anomaly is no reproduction.
        other = Finding(anomaly="duplicate", count=1, summary="one duplicate")
        if not self.failing(len(self.ran)):
            return Run(home, judge("r", findings=[LOST] if loses else [other]))
        unfinished = Exercised(failed_steps=("final-read",))
        found = [LOST] if loses and len(self.ran) % 2 else []
        return Run(home, judge("r", findings=found, unknowns=["no broker answered"], exercised=unfinished))

    def clock(self) -> float:
        return self.now


def loaded(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "test_minimal.py", "exec"), names)
    return names


def test_one_event_of_six_remains_and_is_written_as_a_test(tmp_path: Path) -> None:
    run = invalid_run(tmp_path)
    lab = Lab(run / "shrink" / "runs")
    found = shrink(run, lab, seconds=900, clock=lab.clock)
    best = found.experiment
    assert [event.id for event in best.schedule.events] == ["isolate-2"]
    assert best.schedule.events[0].lasting == 2
    assert best.schedule.events[0].at == 2
    assert (best.workload.producers, best.workload.readers, best.workload.sessions) == (1, 0, 0)
    assert best.workload.assignment is None
    assert best.cooldown == COOLDOWN
    assert len(lab.ran) <= 24
    folder = run / "shrink"
    assert Experiment.read(folder / "best.json") == best
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert len(lines) == len(lab.ran)
    # With the layout of the run, and simpler at once.
    assert Experiment.read(folder / "start.json").workload.assignment == {
        0: (2, 3, 1), 1: (3, 1, 2), 2: (1, 2, 3),
    }  # fmt: skip
    assert Experiment.from_json(lines[0]["candidate"]).cooldown == COOLDOWN
    assert {type(line["reproduced"]) for line in lines} == {bool}
    assert found.test == folder / "test_minimal.py"
    names = loaded(found.test.read_text())
    assert names["EXPERIMENT"] == best
    for said in ("lost-write", "reproduced in 5 of 5 runs", "Kafka 4.1.1", f"kafkacheck replay {folder}"):
        assert said in names["__doc__"]
    # Runs that showed nothing are not kept.
    assert len(list((folder / "runs").iterdir())) == sum(line["reproduced"] for line in lines)
    assert "6 events became 1" in found.text


def test_the_written_test_fails_while_the_anomaly_exists(tmp_path: Path) -> None:
    run = invalid_run(tmp_path)
    lab = Lab(tmp_path / "runs")
    found = shrink(run, lab, seconds=900, clock=lab.clock)
    assert found.test is not None
    test = loaded(found.test.read_text())["test_minimal"]
    with pytest.raises(AssertionError, match="lost-write"):
        test(lab)
    test(lambda _: Run(tmp_path, judge("r")))


@pytest.mark.parametrize("runs", [0, 1, 2, 5, 9])
def test_an_interrupted_search_keeps_the_best_and_continues(tmp_path: Path, runs: int) -> None:
    run = invalid_run(tmp_path)
    (tmp_path / "other").mkdir()
    other = invalid_run(tmp_path / "other")
    straight = Lab(other / "shrink" / "runs")
    expected = shrink(other, straight, seconds=900, clock=straight.clock)

    def interrupted(number: int) -> None:
        if number == runs:
            raise KeyboardInterrupt

    first = Lab(tmp_path / "a", before=interrupted)
    with pytest.raises(KeyboardInterrupt):
        shrink(run, first, seconds=900, clock=first.clock)
    folder = run / "shrink"
    if runs:
        best = Experiment.read(folder / "best.json")
        assert best in first.ran
        assert "isolate-2" in {event.id for event in best.schedule.events}
        assert loaded((folder / "test_minimal.py").read_text())["EXPERIMENT"] == best
        assert "has not ended" in (folder / "test_minimal.py").read_text()
        # As if it had died while it wrote a line.
        with (folder / "log.jsonl").open("a") as file:
            file.write('{"candidate": {"for')
    second = Lab(tmp_path / "b")
    found = shrink(run, second, seconds=900, clock=second.clock)
    assert found.experiment == expected.experiment
    assert first.ran + second.ran == straight.ran
    for line in (folder / "log.jsonl").read_text().splitlines():
        json.loads(line)
    # Once it has ended there is nothing left to do.
    third = Lab(tmp_path / "c")
    assert shrink(run, third, seconds=900, clock=third.clock).experiment == expected.experiment
    assert not third.ran


def test_an_anomaly_that_does_not_appear_again_is_reported_without_a_test(tmp_path: Path) -> None:
    run = invalid_run(tmp_path)
    said: list[str] = []

    def nothing(*_: object) -> Run:
        home = tmp_path / f"try-{len(said)}"
        home.mkdir()
        return Run(home, judge("r"))

    found = shrink(run, nothing, seconds=900, say=said.append)
    assert found.test is None
    assert f"did not appear again in {MOST_MISSES} runs" in found.text
    assert not (run / "shrink" / "test_minimal.py").exists()


def test_a_failed_run_is_no_trial(tmp_path: Path) -> None:
    run = invalid_run(tmp_path)
    failed: set[int] = set()

    def once(number: int) -> None:
        if number % 3 == 0 and number not in failed:
            failed.add(number)
            raise InfrastructureError("no memory")

    lab = Lab(tmp_path / "runs", before=once)
    found = shrink(run, lab, seconds=900, clock=lab.clock)
    assert [event.id for event in found.experiment.schedule.events] == ["isolate-2"]
    assert len(failed) > 2


def test_a_run_with_a_failed_step_counts_where_it_shows_the_anomaly_and_is_repeated_where_not(
    tmp_path: Path,
) -> None:
    run = invalid_run(tmp_path)
    lab = Lab(tmp_path / "runs", failing=lambda number: number % 3 == 0)
    said: list[str] = []
    found = shrink(run, lab, seconds=900, clock=lab.clock, say=said.append)
    assert [event.id for event in found.experiment.schedule.events] == ["isolate-2"]
    assert "not carried out: no broker answered" in said


def test_repeated_failures_end_the_search(tmp_path: Path) -> None:
    run = invalid_run(tmp_path)

    def broken(number: int) -> None:
        if number >= 1:
            raise InfrastructureError("no engine")

    lab = Lab(tmp_path / "runs", before=broken)
    with pytest.raises(InfrastructureError, match="no engine"):
        shrink(run, lab, seconds=900, clock=lab.clock)
    assert (run / "shrink" / "best.json").is_file()


def test_a_run_that_is_not_invalid_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = invalid_run(tmp_path)
    (run / "verdict.json").write_text(judge("r").to_json())
    assert cli.main(["shrink", str(run)]) == cli.USAGE
    assert "the verdict is valid" in capsys.readouterr().err
    (run / "verdict.json").unlink()
    assert cli.main(["shrink", str(run)]) == cli.USAGE
    assert "kafkacheck analyze" in capsys.readouterr().err
    assert cli.main(["shrink", str(run), "--minutes", "0"]) == cli.USAGE
    (run / "verdict.json").write_text("{}")
    assert cli.main(["shrink", str(run)]) == cli.USAGE
    assert not (run / "shrink").exists()


class FakeHarness(Lab):
    """In place of the real one, for the command line."""

    made: ClassVar[list[dict[str, Any]]] = []
    stop_at: ClassVar[int | None] = None

    def __init__(self, directory: Path, **options: Any) -> None:
        super().__init__(directory, before=self.interrupt)
        self.made.append(options)

    def interrupt(self, number: int) -> None:
        if number == self.stop_at:
            raise KeyboardInterrupt

    def __enter__(self) -> FakeHarness:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, experiment: Experiment, *, name: str = "", only: Any = None) -> Run:  # noqa: ARG002 - as real
        return self(experiment, only or ("lost-write",))

    def drop_cluster(self) -> None:
        pass


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "Harness", FakeHarness)
    run = invalid_run(tmp_path)
    for stop_at, said in (
        (0, "no run has shown the anomaly yet"),
        (2, "none is confirmed yet; the smallest so far"),
        (7, "the smallest confirmed so far, reproduced in 5 of 5 runs, is isolate-2 for 8 s"),
    ):
        monkeypatch.setattr(FakeHarness, "stop_at", stop_at)
        assert cli.main(["shrink", str(run)]) == cli.INTERRUPTED
        assert said in capsys.readouterr().err
        shutil.rmtree(run / "shrink" / "runs", ignore_errors=True)
    monkeypatch.setattr(FakeHarness, "stop_at", None)
    assert cli.main(["shrink", str(run)]) == cli.AS_EXPECTED
    assert FakeHarness.made[-1]["fresh"] is False
    out, err = capsys.readouterr()
    assert "continuing after 9 runs" in err
    assert "6 events became 1" in out
    assert cli.main(["replay", str(run), "--symbolic", "--dir", str(tmp_path / "dir")]) == cli.NOT_AS_EXPECTED
    out, err = capsys.readouterr()
    assert "kafkacheck replay" in out
    assert "report: not written (UsageError: " in err, "the run of the stand-in has no folder"


def test_a_log_of_another_experiment_is_refused(tmp_path: Path) -> None:
    run = invalid_run(tmp_path)
    (run / "shrink").mkdir()
    other = {
        "candidate": Experiment(workload=AppendLog()).to_json(),
        "why": "",
        "reproduced": True,
        "seconds": 1,
    }
    for line in (json.dumps(other), "{}", "[]", "nothing"):
        (run / "shrink" / "log.jsonl").write_text(line + "\n")
        with pytest.raises(UsageError, match="remove the folder to start again"):
            shrink(run, Lab(tmp_path / "runs"), seconds=900)


def test_evidence_names_active_and_later_events() -> None:
    exercised = Exercised(faults=tuple(map(began, Experiment(workload=AppendLog(), faults=FAULTS).faults)))
    found = evidence(judge("r", findings=[LOST], exercised=exercised), {"lost-write"})
    assert found.suspects == {"isolate-2", "loss-3"}
    assert found.later == {"restart-4", "kill-5"}
    silent = Finding(anomaly="lost-write", count=1, summary="", examples=({"time": None},))
    assert not evidence(judge("r", findings=[silent], exercised=exercised), {"lost-write"}).suspects


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", '{"result": 3}', "\x00"])
def test_a_file_that_is_no_verdict_is_refused(tmp_path: Path, text: str) -> None:
    run = invalid_run(tmp_path)
    (run / "verdict.json").write_text(text)
    with pytest.raises(
        UsageError, match=r"verdict\.json: not a verdict of this kafkacheck .*kafkacheck analyze"
    ):
        shrink(run, Lab(tmp_path / "runs"), seconds=900)


@pytest.mark.parametrize("there", ["shrink", "shrink/log.jsonl/"])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path, there: str) -> None:
    run = invalid_run(tmp_path)
    if there.endswith("/"):
        (run / there).mkdir(parents=True)
    else:
        (run / there).write_text("")
    lab = Lab(tmp_path / "runs")
    with pytest.raises(UsageError, match=r"log\.jsonl: cannot be written"):
        shrink(run, lab, seconds=900)
    assert not lab.ran


@pytest.mark.parametrize(
    "wrong", [{"reproduced": "yes"}, {"seconds": "long"}, {"seconds": None}, b"\xff", "deep"]
)
def test_a_broken_log_is_refused_by_name(tmp_path: Path, wrong: Any) -> None:
    run = invalid_run(tmp_path)
    (run / "shrink").mkdir()
    line = {
        "candidate": Experiment(workload=AppendLog()).to_json(),
        "why": "",
        "reproduced": True,
        "seconds": 1,
    }
    text = wrong if isinstance(wrong, bytes) else b"[" * 100_000
    if isinstance(wrong, dict):
        text = json.dumps(line | wrong).encode()
    (run / "shrink" / "log.jsonl").write_bytes(text + b"\n")
    with pytest.raises(UsageError, match=r"log\.jsonl.*remove the folder to start again"):
        shrink(run, Lab(tmp_path / "runs"), seconds=900)
