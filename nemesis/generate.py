"""Schedules from a seed: faults by weight, within a budget, with quiet periods."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nemesis.budget import Budget
from nemesis.faults import FAULTS
from nemesis.schedule import Event, Schedule, conflict
from nemesis.targets import Target
from nemesis.topology import Topology
from nemesis.validation import count, finite, number, seconds

WEIGHTS: Mapping[str, float] = {
    "isolate": 3, "partition": 2, "pause": 3, "kill": 3, "stop": 1, "restart": 1, "cut-clients": 1, "reset": 1,
    "loss": 1, "cpu": 1,
}  # fmt: skip
"""Faults that every cluster can have, and that no workload takes for an attack on its own topics."""

TARGETS: Mapping[str, Sequence[str]] = {
    "nodes": ("leader", "follower", "controller", "one", "minority"),
    "partition": ("partition",),
    "topic": ("topic",),
    "cluster": ("cluster",),
    "clients": ("producer", "reader", "session"),
}

OPTIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "partition": (
        {},
        {"one_way": "out"},
        {"one_way": "in"},
        {"plane": "replication"},
        {"plane": "controller"},
    ),
    "restart": ({}, {"clean": False}),
    "cut-clients": ({}, {"one_way": "in"}, {"one_way": "out"}),
    "loss": ({"percent": 5}, {"percent": 20}, {"percent": 50}),
    "cpu": ({"cores": 0.05}, {"cores": 0.2}),
    "clock": ({"offset": 60}, {"offset": -60}, {"ppm": 50_000}),
    "corrupt": ({}, {"how": "flip"}),
}

MOST = 200
"""Events: each is held against all others."""

TRIES = 20
"""Draws for one event before it is left out: a tight budget leaves no room for some."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What `generate` needs besides the cluster: what an experiment takes in place of a list of events.

    seed     of every choice; equal seeds give equal schedules for equal clusters.
    length   seconds in which all faults begin and end.
    events   how many; fewer where the budget leaves no room.
    weights  fault to weight; None for those that every cluster can have.
    lasting  least and most seconds of a fault.
    budget   see `Budget`.
    quiet    (seconds with faults, seconds without), again and again; None for no quiet periods.
    Raises ValueError naming the field, the value and what is allowed.
    """

    seed: int = 0
    length: float = 60.0
    events: int = 8
    weights: Mapping[str, float] | None = None
    lasting: tuple[float, float] = (2.0, 8.0)
    budget: Budget = field(default_factory=lambda: Budget(brokers="minority", controllers="minority"))
    quiet: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise ValueError(f"Generated.seed={self.seed!r}: expected a whole number")
        seconds("Generated.length", self.length, above=0)
        count("Generated.events", self.events, most=MOST)
        if not isinstance(self.budget, Budget):
            raise ValueError(f"Generated.budget={self.budget!r}: expected a Budget; Budget() limits nothing")
        if self.weights is not None and not isinstance(self.weights, Mapping):
            raise ValueError(
                f"Generated.weights={self.weights!r}: expected numbers by fault, as {{'kill': 2, 'pause': 1}}, "
                f"or None"
            )
        for name, weight in (self.weights or {}).items():
            number(f"Generated.weights[{name!r}]", weight, least=0)
            if name not in FAULTS:
                raise ValueError(f"Generated.weights: fault {name!r}; allowed are {', '.join(FAULTS)}")
            if FAULTS[name].strikes not in TARGETS:
                raise ValueError(
                    f"Generated.weights: {name} needs a name of a {FAULTS[name].strikes} that a seed does not know"
                )
            try:
                for options in OPTIONS.get(name, ({},)):
                    FAULTS[name](**options)
            except ValueError as error:
                raise ValueError(
                    f"Generated.weights: {name} needs options that a seed does not know: {error}"
                ) from error
        if self.weights is not None and not any(weight > 0 for weight in self.weights.values()):
            raise ValueError(f"Generated.weights={dict(self.weights)!r}: expected one or more above 0")
        if not _pair(self.lasting) or not 0 < self.lasting[0] <= self.lasting[1] <= self.length:
            raise ValueError(
                f"Generated.lasting={self.lasting!r}: expected two numbers of seconds, above 0 and up to "
                f"length={self.length:g}, the smaller one first"
            )
        most = self.lasting[1]
        if self.quiet is not None and not (_pair(self.quiet) and self.quiet[0] >= most and self.quiet[1] > 0):
            raise ValueError(
                f"Generated.quiet={self.quiet!r}: expected (seconds with faults, at least the longest lasting "
                f"{most:g}; seconds without, above 0)"
            )


def _pair(value: object) -> bool:
    return isinstance(value, Sequence) and len(value) == 2 and all(map(finite, value))


def generate(wanted: Generated, topology: Topology) -> Schedule:
    """Events sorted by their time, all of them healed before the end.

    Each event is drawn from a stream of its own. Raises ValueError when not a single one fits.
    """
    weights = {
        name: weight
        for name, weight in (wanted.weights or WEIGHTS).items()
        if weight > 0 and (wanted.weights is not None or _common(name, topology))
    }
    taken: list[Event] = []
    for position in range(wanted.events):
        rng = random.Random(f"{wanted.seed}/{position}")
        for _ in range(TRIES):
            event = _draw(rng, wanted, weights, topology, position)
            if event is not None and _fits(event, taken, wanted, topology):
                taken.append(event)
                break
    if not taken:
        raise ValueError(
            f"no event fits: budget {wanted.budget.to_json()}, length {wanted.length:g} s, faults "
            f"{', '.join(weights)}"
        )
    return Schedule(tuple(sorted(taken, key=lambda event: (event.at, event.id))))


def _common(name: str, topology: Topology) -> bool:
    # Without peers there is nobody to be cut from.
    return len(topology.nodes) > 1 or name not in ("isolate", "partition")


def _draw(
    rng: random.Random, wanted: Generated, weights: Mapping[str, float], topology: Topology, number: int
) -> Event | None:
    name = rng.choices(list(weights), list(weights.values()))[0]
    fault = FAULTS[name](**rng.choice(OPTIONS.get(name, ({},))))
    lasting = 0.0 if fault.momentary else _rounded(rng, *wanted.lasting)
    at = _rounded(rng, 0, wanted.length - lasting)
    target = Target.parse(rng.choice(TARGETS[fault.strikes]))
    event = Event(id=f"{name}-{number}", fault=fault, target=target, at=at, lasting=lasting)
    try:
        event.check(topology)
    except ValueError:
        return None
    return event


def _rounded(rng: random.Random, least: float, most: float) -> float:
    """A number in that range, to a tenth where the range has one."""
    return min(max(round(rng.uniform(least, most), 1), least), most)


def _fits(event: Event, taken: Sequence[Event], wanted: Generated, topology: Topology) -> bool:
    if event.end > wanted.length:
        return False
    if wanted.quiet is not None:
        loud, quiet = wanted.quiet
        begun = event.at % (loud + quiet)
        if begun >= loud or begun + event.lasting > loud:
            return False
    if any(_clash(event, other, topology) for other in taken):
        return False
    try:
        wanted.budget.check(Schedule((*taken, event)), topology)
    except ValueError:
        return False
    return True


def _clash(event: Event, other: Event, topology: Topology) -> bool:
    """Whether they could meet at one process: by roles, any two nodes may be the same."""
    if conflict(event, other, topology):
        return True
    halting = event.fault.halts and other.fault.halts and event.fault.strikes == other.fault.strikes
    return halting and event.overlaps(other)
