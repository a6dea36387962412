"""Runs the rounds of a soak one after another, until the time is over or enough was found."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pytest_kafkacheck.errors import InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.soak.draw import BLOCK, Drawn, draw
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.retention import Keep, first_of_causes, prune
from pytest_kafkacheck.soak.round import Round
from pytest_kafkacheck.soak.state import SoakFolder, State

FAILURES = 4
"""Rounds in succession that could not be run, after which a soak gives up."""


class Lab(Protocol):
    """Where rounds are run. `clusters.Clusters` is the real one."""

    def run(self, experiment: Experiment, *, name: str) -> Run:
        """Run and judge it. `name` becomes part of the folder's name. Raises InfrastructureError."""

    def judge(self, home: Path) -> Run:
        """Judge a run that was recorded earlier."""

    def renew(self) -> None:
        """Let the next round have a new cluster."""

    def shrink(self, home: Path, *, seconds: float) -> str:
        """Shrink an invalid run, or go on with it. Returns what it found."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a soak ends, and what it keeps.

    seconds     over all calls; no round begins later. None for no limit.
    rounds      None for no limit.
    stop_after  causes of findings; None to go on.
    shrink      seconds for shrinking the first run of each cause; 0 for none.
    keep        which runs are kept.
    most_bytes  of the folder.
    """

    seconds: float | None = None
    rounds: int | None = None
    stop_after: int | None = None
    shrink: float = 0.0
    keep: Keep = "failed"
    most_bytes: int = 2_000_000_000

    def __post_init__(self) -> None:
        if self.seconds is None and self.rounds is None:
            raise UsageError("a soak without an end: say how long with --hours, or how often with --rounds")


def soak(
    plan: Soak,
    lab: Lab,
    folder: SoakFolder,
    limits: Limits,
    *,
    seed: int,
    say: Say = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> State:
    """Run rounds, and go on where an earlier call has stopped. `folder.file` has the state after each round.

    Raises InfrastructureError when several rounds in succession could not be run.
    """
    running = _Running(plan, lab, folder, limits, seed=seed, say=say, clock=clock)
    return running.go_on()


class _Running:
    def __init__(
        self,
        plan: Soak,
        lab: Lab,
        folder: SoakFolder,
        limits: Limits,
        *,
        seed: int,
        say: Say,
        clock: Callable[[], float],
    ) -> None:
        self._plan, self._lab, self._folder, self._limits = plan, lab, folder, limits
        self._seed, self._say, self._clock = seed, say, clock
        self._state = folder.read(plan, seed)
        self._began = clock() - self._state.seconds
        self._failures = 0

    def go_on(self) -> State:
        if self._state.rounds:
            self._say(f"going on after {len(self._state.rounds)} rounds, see {self._folder.file}")
        self._shrink_new()
        while not self._ends():
            self._round(self._state.next_number)
            self._shrink_new()
        return self._state

    def _ends(self) -> bool:
        limits, state = self._limits, self._state
        causes = {cause for each in state.rounds for cause in each.causes}
        return (
            (limits.seconds is not None and self._seconds() >= limits.seconds)
            or (limits.rounds is not None and len(state.rounds) >= limits.rounds)
            or (limits.stop_after is not None and len(causes) >= limits.stop_after)
        )

    def _seconds(self) -> float:
        return self._clock() - self._began

    def _round(self, number: int) -> None:
        drawn = draw(self._plan, self._seed, number, self._state.seen)
        began = self._clock()
        ended = self._left_over(number, drawn)
        if ended is None:
            if (number - 1) % BLOCK == 0:
                self._lab.renew()
            self._say(f"round {number}: {described(drawn.experiment)}")
            ended = self._run(number, drawn, began)
        self._note(ended)
        self._say(f"round {number}: {ended.headline}")
        self._prune()
        if ended.result == "unknown":
            # Whatever it was, the next round does not share it.
            self._lab.renew()

    def _run(self, number: int, drawn: Drawn, began: float) -> Round:
        try:
            run = self._lab.run(drawn.experiment, name=name_of(number))
        except InfrastructureError as error:
            self._failures += 1
            if self._failures >= FAILURES:
                raise
            path = next((home.name for home in self._homes(number)), "")
            return Round.failed(number, drawn, error, self._clock() - began, path=path)
        self._failures = 0
        return Round.of(number, drawn, run, self._clock() - began)

    def _left_over(self, number: int, drawn: Drawn) -> Round | None:
        """The round, if an earlier call was killed in it and its history shows something. Else its run is removed."""
        for home in self._homes(number):
            try:
                run = self._lab.judge(home)
            except (InfrastructureError, UsageError) as error:
                self._say(f"{home.name} was left without a verdict: {error}")
            else:
                if run.result != "unknown":
                    return Round.of(number, drawn, run, 0.0)
            shutil.rmtree(home, ignore_errors=True)
        return None

    def _homes(self, number: int) -> list[Path]:
        return sorted(self._folder.path.glob(f"*-{name_of(number)}-*"))

    def _shrink_new(self) -> None:
        """Shrink the first run of each cause that was not shrunk yet."""
        if not self._limits.shrink:
            return
        for number, cause in first_of_causes(self._state.rounds).items():
            found = next(each for each in self._state.rounds if each.number == number)
            home = self._folder.path / found.path
            if found.shrunk is not None or not home.is_dir():
                continue
            self._say(f"shrinking round {number}: {cause}")
            try:
                text = self._lab.shrink(home, seconds=self._limits.shrink)
            except InfrastructureError as error:
                text = f"not shrunk: {error}"
            self._note(replace(found, shrunk=text))
            self._say(text)

    def _prune(self) -> None:
        limits, rounds = self._limits, self._state.rounds
        size = prune(self._folder.path, rounds, keep=limits.keep, limit=limits.most_bytes)
        if size > limits.most_bytes:
            raise UsageError(
                f"{self._folder.path}: the first runs of {len(first_of_causes(rounds))} causes take "
                f"{size / 1e6:,.0f} MB, and --limit-mb allows {limits.most_bytes / 1e6:,.0f}; raise it, or move some "
                f"away"
            )

    def _note(self, ended: Round) -> None:
        self._state = self._state.with_round(ended, seconds=self._seconds())
        self._folder.write(self._state)


def name_of(number: int) -> str:
    """Of a round's run."""
    return f"round-{number:05}"


def described(experiment: Experiment) -> str:
    """Such as ``AppendLog on Kafka 4.1.1: isolate leader at 3 s, kill follower at 9 s``."""
    events = ", ".join(
        f"{event.fault.name} {event.target} at {event.at:g} s" for event in experiment.schedule.events
    )
    return f"{type(experiment.workload).__name__} on Kafka {experiment.cluster.version}: {events}"
