"""The file ``soak.json``: what a soak has done. After it was killed, the same command goes on from it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.soak.pairs import Pair
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.round import Round
from pytest_kafkacheck.stored_json import read_json, what_is_wrong

FORMAT = 2


@dataclass(frozen=True, kw_only=True)
class State:
    """plan      digest of what it draws from.
    seconds   for which it has run, over all calls.
    rounds    those that have ended, in the order in which they did.
    """

    plan: str
    seed: int
    seconds: float = 0.0
    rounds: tuple[Round, ...] = ()

    @property
    def seen(self) -> frozenset[Pair]:
        return frozenset(pair for each in self.rounds for pair in each.pairs)

    def with_round(self, ended: Round, *, seconds: float) -> Self:
        """After another round, or with another version of one."""
        rounds = {each.number: each for each in self.rounds} | {ended.number: ended}
        return replace(self, rounds=tuple(rounds.values()), seconds=max(seconds, self.seconds))

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "plan": self.plan,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "rounds": [each.to_json() for each in self.rounds],
        }


class SoakFolder:
    """The folder of a soak: its state, and the runs that are kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "soak.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For this process alone. Raises UsageError when it cannot be written, or another soak uses it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "soak.lock").open("w")
        except OSError as error:
            raise UsageError(
                f"{self.path}: a soak cannot be kept there ({error}); name a folder that can be written to with --dir"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(
                    f"{self.path}: another soak is running there; wait for its end, or name another folder with --dir"
                ) from None
            yield

    def read(self, plan: Soak, seed: int) -> State:
        """The state of this soak; an empty one for a new one. Raises UsageError for that of another soak."""
        if not self.file.exists():
            return State(plan=plan.digest, seed=seed)
        try:
            data = read_json(self.file)
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']!r}, expected {FORMAT}")
            rounds = tuple(Round.from_json(each) for each in data["rounds"])
            state = State(plan=data["plan"], seed=data["seed"], seconds=data["seconds"], rounds=rounds)
        except UsageError as error:
            raise UsageError(f"{error}; remove the folder to start again") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{self.file}: not the state of a soak ({what_is_wrong(error)}); remove the folder to start again"
            ) from error
        if (state.plan, state.seed) != (plan.digest, seed):
            raise UsageError(
                f"{self.path}: belongs to a soak with another plan or seed ({len(state.rounds)} rounds, seed "
                f"{state.seed}); name another folder with --dir, or remove this one"
            )
        return state

    def note(self, plan: Soak, seed: int, ended: Round, *, seconds: float) -> None:
        """Add a round to the state, or another version of it. Several threads and processes may do so at a time."""
        with (self.path / "soak.json.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.write(self.read(plan, seed).with_round(ended, seconds=seconds))

    def write(self, state: State) -> None:
        """Replace the state as a whole: a crash leaves the old one or the new one."""
        unfinished = self.file.with_name(".soak.json.unfinished")
        with unfinished.open("w") as file:
            json.dump(state.to_json(), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, self.file)
