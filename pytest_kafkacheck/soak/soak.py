"""Runs the rounds of a soak one after another, until the time is over or enough was found.

A round is judged in a thread while the next one is under load. At most one round waits for its verdict: another one
is judged only when that is there. So a finding is reported within a round, and neither memory nor the delay grows.
What a verdict decides (another cluster, a finding to shrink, the end of the soak) is done between two rounds.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from nemesis.tasks import Start, Task, in_thread, wait_until
from pytest_kafkacheck.errors import DiskFullError, InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.late_verdict import LATE_LIMIT
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.run import Run
from pytest_kafkacheck.soak.draw import WHOLE, Drawn, Part, draw, drawn_earlier
from pytest_kafkacheck.soak.limits import Limits, first_of_causes, prune
from pytest_kafkacheck.soak.pairs import Pair, planned
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.round import Round
from pytest_kafkacheck.soak.state import SoakFolder, State
from pytest_kafkacheck.termination import is_interrupted, since_interrupt

FAILURES = 4
"""Rounds in succession that could not be run, after which a soak gives up."""


BLOCK = 20
"""Rounds after which the cluster and Spark's JVM are replaced, so that neither their memory nor the nodes' logs grow
for hours."""


class Lab(Protocol):
    """Where rounds are run. `clusters.Clusters` is the real one."""

    def record(self, experiment: Experiment, *, name: str) -> Path:
        """Run it, and return its folder. `name` becomes part of the folder's name. Raises InfrastructureError."""

    def judge(self, home: Path) -> Run:
        """Judge a run that was recorded. May be called in a thread, while another run is recorded."""

    def renew(self) -> None:
        """Let the next round have a new cluster."""

    def shrink(self, home: Path, *, seconds: float) -> str:
        """Shrink an invalid run, or go on with it. Returns what it found."""


def soak(
    plan: Soak,
    lab: Lab,
    folder: SoakFolder,
    limits: Limits,
    *,
    seed: int,
    say: Say = lambda _: None,
    part: Part = WHOLE,
    clock: Callable[[], float] = time.monotonic,
    start: Start = in_thread,
) -> State:
    """Run rounds, and go on where an earlier call has stopped. `folder.file` has the state after each verdict.

    part   the rounds that are run here; other processes run the others at the same time.
    start  starts a verdict beside the next round.
    Raises InfrastructureError when several rounds in succession could not be run.
    """
    running = _Running(plan, lab, folder, limits, seed=seed, say=say, part=part, clock=clock, start=start)
    return running.go_on()


@dataclass(frozen=True, kw_only=True)
class _Judging:
    """A round that has no verdict yet. pairs: those that it planned."""

    number: int
    pairs: frozenset[Pair]
    task: Task[Round]


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
        part: Part,
        clock: Callable[[], float],
        start: Start,
    ) -> None:
        self._plan, self._lab, self._folder, self._limits = plan, lab, folder, limits
        self._seed, self._say, self._part = seed, say, part
        self._clock, self._start = clock, start
        self._began = clock() - self._state.seconds
        self._judging: _Judging | None = None
        self._failures = 0
        self._rounds_on_cluster = 0
        self._is_suspect = False
        """Whether a round on this cluster was unknown: whatever it was, later rounds do not share it."""

    def go_on(self) -> State:
        if rounds := self._state.rounds:
            self._say(f"going on after {len(rounds)} rounds, see {self._folder.file}")
        try:
            self._between_rounds()
            while not self._ends():
                self._round(self._next_number())
                self._between_rounds()
        except KeyboardInterrupt:
            if self._judging is not None:
                wait_until(self._judging.task.done, limit=LATE_LIMIT - since_interrupt())
            raise
        except Exception:
            with suppress(Exception):
                self._wait()
            raise
        self._wait()
        self._shrink_new()
        return self._state

    @property
    def _state(self) -> State:
        return self._folder.read(self._plan, self._seed)

    def _ends(self) -> bool:
        limits, state = self._limits, self._state
        causes = {cause for each in state.rounds for cause in each.causes}
        return (
            (limits.seconds is not None and self._seconds() >= limits.seconds)
            or (limits.rounds is not None and self._next_number() > limits.rounds)
            or (limits.stop_after is not None and len(causes) >= limits.stop_after)
        )

    def _seconds(self) -> float:
        return self._clock() - self._began

    def _next_number(self) -> int:
        taken = {each.number for each in self._state.rounds}
        if self._judging is not None:
            taken.add(self._judging.number)
        return self._part.next(taken)

    def _round(self, number: int) -> None:
        if self._is_left_over(number):
            return
        waiting = self._judging.pairs if self._judging is not None else frozenset()
        drawn = draw(self._plan, self._seed, number, self._state.seen | waiting)
        self._say(f"round {number}: {described(drawn.experiment)}")
        began = self._clock()
        recorded: Path | InfrastructureError
        try:
            recorded = self._lab.record(drawn.experiment, name=name_of(number))
        except DiskFullError:  # the next round would find no more space
            raise
        except InfrastructureError as error:
            recorded = error
        seconds = self._clock() - began
        self._rounds_on_cluster += 1
        self._wait()
        work = partial(self._judge, number, drawn, recorded, seconds)
        self._judging = _Judging(
            number=number,
            pairs=planned(drawn.experiment),
            task=self._start(work, "kafkacheck-soak-verdict"),
        )

    def _judge(
        self, number: int, drawn: Drawn, recorded: Path | InfrastructureError, seconds: float
    ) -> Round:
        began = self._clock()
        try:
            if isinstance(recorded, InfrastructureError):
                raise recorded
            run = self._lab.judge(recorded)
        except InfrastructureError as error:
            self._failures += 1
            if self._failures >= FAILURES or is_interrupted():
                raise
            path = next((home.name for home in self._homes(number)), "")
            ended = Round.failed(number, drawn, error, seconds, path=path)
        else:
            self._failures = 0
            ended = Round.of(number, drawn, run, seconds + self._clock() - began)
        self._note(ended)
        self._say(f"round {number}: {ended.headline}")
        return ended

    def _wait(self) -> None:
        """Wait for the verdict that is not there yet. Raises what judging raised."""
        judging, self._judging = self._judging, None
        if judging is not None:
            self._is_suspect |= judging.task.result().result == "unknown"
            self._prune()

    def _between_rounds(self) -> None:
        """Do what verdicts ask for. It needs the cluster or Spark for itself, so no round is judged meanwhile."""
        if self._judging is not None and self._judging.task.done():
            self._wait()
        if self._is_suspect or self._rounds_on_cluster >= BLOCK:
            self._wait()
            self._lab.renew()
            self._is_suspect, self._rounds_on_cluster = False, 0
        self._shrink_new()

    def _is_left_over(self, number: int) -> bool:
        """Whether an earlier call was killed in this round, and its history shows something: then the round has
        ended. Else its run is removed."""
        for home in self._homes(number):
            self._wait()
            if (drawn := self._drawn_earlier(number, home)) is not None:
                try:
                    run = self._lab.judge(home)
                except (InfrastructureError, UsageError) as error:
                    self._say(f"{home.name} was left without a verdict: {error}")
                else:
                    if run.result != "unknown":
                        ended = Round.of(number, drawn, run, 0.0)
                        self._note(ended)
                        self._say(f"round {number}: {ended.headline}")
                        self._prune()
                        return True
            shutil.rmtree(home, ignore_errors=True)
        return False

    def _drawn_earlier(self, number: int, home: Path) -> Drawn | None:
        try:
            stored = json.loads(RunDirectory(home).experiment.read_text())
        except (OSError, ValueError):  # killed before it was written
            return None
        return drawn_earlier(self._plan, self._seed, number, stored)

    def _homes(self, number: int) -> list[Path]:
        return sorted(self._folder.path.glob(f"*-{name_of(number)}-*"))

    def _shrink_new(self) -> None:
        """Shrink the first run of each cause that was not shrunk yet.

        Of no more causes than `stop_after`: the last round of a soak that ends after so many may have shown another.
        """
        if not self._limits.shrink:
            return
        rounds = self._state.rounds
        for number, cause in islice(first_of_causes(rounds).items(), self._limits.stop_after):
            found = next(each for each in rounds if each.number == number)
            home = self._folder.path / found.path
            if found.shrunk is not None or not home.is_dir() or not self._part.has(number):
                continue
            self._wait()
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
        self._folder.note(self._plan, self._seed, ended, seconds=self._seconds())


def name_of(number: int) -> str:
    """Of a round's run."""
    return f"round-{number:05}"


def described(experiment: Experiment) -> str:
    """Such as ``AppendLog on Kafka 4.1.1: isolate leader at 3 s, kill follower at 9 s``."""
    events = ", ".join(
        f"{event.fault.name} {event.target} at {event.at:g} s" for event in experiment.schedule.events
    )
    return f"{type(experiment.workload).__name__} on Kafka {experiment.cluster.version}: {events}"
