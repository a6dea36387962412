"""A simulated cluster for tests of shrinking: the rate at which an experiment shows its anomaly is known."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from nemesis.schedule import Schedule
from nemesis.shrink.reductions import Evidence
from nemesis.shrink.runs import Shrunk, Trial
from nemesis.shrink.search import Shrink
from pytest_kafkacheck import isolate, kill, loss, pause, reset

BOOT = 15.0
"""Seconds of a run besides its schedule."""

FEWEST = 3
"""Clients of the smallest plan."""


@dataclass(frozen=True)
class Plan:
    """A candidate: a schedule, and a number of clients."""

    schedule: Schedule
    clients: int = 5

    def scheduled(self, schedule: Schedule) -> Plan:
        return replace(self, schedule=schedule)

    def simpler(self) -> Iterator[tuple[str, Plan]]:
        if self.clients > FEWEST:
            yield "fewer clients", replace(self, clients=self.clients - 1)

    def to_json(self) -> Any:
        return {"clients": self.clients, "schedule": self.schedule.to_json()}

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(event.id for event in self.schedule.events)


@dataclass
class World:
    """causes: sets of ids, any of which is enough; least: how long an event of a cause must last for the rate `p`;
    short: the rate where one of a cause lasts less than that."""

    causes: Sequence[frozenset[str]]
    p: float = 1.0
    least: dict[str, float] = field(default_factory=dict)
    short: float = 0.0
    seed: int = 0
    now: float = 0.0
    interrupt: int | None = None
    runs: list[Plan] = field(default_factory=list)
    shown: list[Plan] = field(default_factory=list)
    kept: list[Shrunk[Plan]] = field(default_factory=list)
    renewed: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def clock(self) -> float:
        return self.now

    def rate(self, plan: Plan) -> float:
        """The probability that a run of it shows the anomaly."""
        long = {event.id for event in plan.schedule.events if event.lasting >= self.least.get(event.id, 0)}
        if any(cause <= long for cause in self.causes):
            return self.p
        return self.short * self.p if any(cause <= plan.ids for cause in self.causes) else 0.0

    def reproduces(self, plan: Plan) -> bool:
        if self.interrupt is not None and len(self.runs) >= self.interrupt:
            raise KeyboardInterrupt
        self.now += BOOT + plan.schedule.length
        self.runs.append(plan)
        shown = self.random.random() < self.rate(plan)
        if shown:
            self.shown.append(plan)
        return shown

    def renew(self) -> None:
        self.renewed += 1

    def keep(self, found: Shrunk[Plan], log: Sequence[Trial]) -> None:
        assert any(trial.reproduced and trial.candidate == found.best.to_json() for trial in log)
        self.kept.append(found)

    def search(
        self,
        schedule: Schedule,
        *,
        budget: float = 1e9,
        evidence: Evidence | None = None,
        seen: Iterable[Trial] = (),
    ) -> Shrink[Plan]:
        return Shrink(
            Plan(schedule),
            self.reproduces,
            budget=budget,
            keep=self.keep,
            renew=self.renew,
            evidence=evidence,
            seen=seen,
            clock=self.clock,
        )


MAKERS = [kill, pause, isolate, loss]
EVENTS = st.builds(
    lambda make, at, lasting: make("leader", at=at, lasting=lasting),
    st.sampled_from(MAKERS), st.integers(0, 60), st.integers(1, 12),
) | st.builds(lambda at: reset("leader", at=at), st.integers(0, 60))  # fmt: skip
SCHEDULES = st.lists(EVENTS, min_size=1, max_size=12).map(Schedule.of)


@st.composite
def worlds(
    draw: st.DrawFn, *, p: st.SearchStrategy[float], short: st.SearchStrategy[float] | None = None
) -> tuple[Schedule, World, Evidence]:
    schedule = draw(SCHEDULES)
    ids = [event.id for event in schedule.events]
    causes = draw(st.lists(st.frozensets(st.sampled_from(ids), max_size=3), min_size=1, max_size=3))
    lasting = {event.id: event.lasting for event in schedule.events}
    least = {each: draw(st.floats(0, lasting[each])) for each in ids if draw(st.booleans())}
    world = World(causes, p=draw(p), least=least, seed=draw(st.integers(0, 1000)))
    if short is not None:
        world.short = draw(short)
    # What the evidence says may be wrong.
    some = st.frozensets(st.sampled_from(ids))
    return schedule, world, Evidence(suspects=draw(some), later=draw(some))
