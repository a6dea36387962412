"""Stands for clusters in tests of a soak: a function decides what each experiment shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Cause, Finding
from analyzers.verdict.verdict import Verdict, judge
from nemesis.event import Event
from nemesis.tasks import Task
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.run import Run

T = TypeVar("T")


def at_once(work: Callable[[], T], _: str) -> Task[T]:
    """A `Start` that has ended when it returns, so that rounds and verdicts alternate."""
    done: Future[T] = Future()
    try:
        done.set_result(work())
    except Exception as problem:
        done.set_exception(problem)
    return done


BYTES = 100_000
"""Of the history of a run."""


def began(event: Event) -> FaultExercised:
    """The event as planned; every replica is in sync a second after its end."""
    return FaultExercised(
        event=event.id,
        fault=event.fault.name,
        target=str(event.target),
        effective=True,
        healed=True,
        began=event.at,
        ended=event.end,
        whole=event.end + 1,
        acks_after=10,
    )


def shows(
    experiment: Experiment, *, lost: bool = False, unknown: str | None = None, noted: str | None = None
) -> Verdict:
    """A verdict: valid, with lost writes, or unknown for that reason. noted: a note that it has besides."""
    finding = Finding(anomaly="lost-write", count=7, summary="7 lost")
    notes = [] if noted is None else [Finding(anomaly=noted, count=3, summary="3 of them")]
    causes = [Cause(kind="truncation", findings={"lost-write": 7})]
    return judge(
        "0123abcd",
        findings=[*notes, *([finding] if lost else [])],
        causes=causes if lost else [],
        unknowns=[] if unknown is None else [unknown],
        exercised=Exercised(sends={"ok": 100}, faults=tuple(map(began, experiment.schedule.events))),
    )


@dataclass
class FakeLab:
    """verdict: of an experiment. before: called with the number of runs so far; may raise."""

    home: Path
    verdict: Callable[[Experiment], Verdict] = shows
    before: Callable[[int], None] = lambda _: None
    seconds: float = 60.0
    now: float = 0.0
    ran: list[Experiment] = field(default_factory=list)
    renewed: int = 0
    shrunk: list[tuple[Path, float]] = field(default_factory=list)

    def record(self, experiment: Experiment, *, name: str) -> Path:
        self.now += self.seconds
        self.before(len(self.ran))
        self.ran.append(experiment)
        home = RunDirectory.create(self.home, name=name, run=f"{len(self.ran):08x}")
        home.write_experiment(experiment)
        home.history.mkdir()
        (home.history / "records").write_bytes(b"x" * BYTES)
        return home.path

    def judge(self, home: Path) -> Run:
        directory = RunDirectory(home)
        verdict = self.verdict(Experiment.from_json(json.loads(directory.experiment.read_text())))
        directory.write_verdict(verdict)
        return Run(home, verdict)

    def renew(self) -> None:
        self.renewed += 1

    def shrink(self, home: Path, *, seconds: float) -> str:
        self.shrunk.append((home, seconds))
        return "6 events became 1"

    def clock(self) -> float:
        return self.now
