"""Shrinking on a simulated cluster: the cause of its anomaly and the duration of a run are known."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.event import Event
from nemesis.generate import Generated, generate
from nemesis.schedule import Schedule
from nemesis.shrink.ddmin import ddmin
from nemesis.shrink.reductions import GAP, LEAD, Evidence, by_evidence, classes, closer, shorter
from nemesis.shrink.search import MOST_MISSES, Impossible, Shrink, Trial, misses_to_reject
from nemesis.topology import Topology
from pytest_kafkacheck import isolate, kill, loss, pause, reset

BOOT = 15.0
"""Seconds of a run besides its schedule."""

MINUTES = 60.0


@dataclass(frozen=True)
class Plan:
    """A candidate: a schedule, and a number of clients; three of them is the least there can be."""

    schedule: Schedule
    clients: int = 5

    def scheduled(self, schedule: Schedule) -> Plan:
        return replace(self, schedule=schedule)

    def simpler(self) -> Iterator[tuple[str, Plan]]:
        if self.clients > 3:
            yield "fewer clients", replace(self, clients=self.clients - 1)

    def to_json(self) -> Any:
        return {"clients": self.clients, "schedule": self.schedule.to_json()}

    @classmethod
    def from_json(cls, data: Any) -> Plan:
        return cls(Schedule.from_json(data["schedule"]), data["clients"])

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(event.id for event in self.schedule.events)


@dataclass
class World:
    """causes: sets of ids, any of which is enough; least: how long an event of a cause must last."""

    causes: Sequence[frozenset[str]]
    p: float = 1.0
    least: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    now: float = 0.0
    interrupt: int | None = None
    runs: list[Plan] = field(default_factory=list)
    shown: list[Plan] = field(default_factory=list)
    kept: list[Plan] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def clock(self) -> float:
        return self.now

    def causal(self, plan: Plan) -> bool:
        long = {event.id for event in plan.schedule.events if event.lasting >= self.least.get(event.id, 0)}
        return any(cause <= long for cause in self.causes)

    def reproduces(self, plan: Plan) -> bool:
        if self.interrupt is not None and len(self.runs) >= self.interrupt:
            raise KeyboardInterrupt
        self.now += BOOT + plan.schedule.length
        self.runs.append(plan)
        shown = self.causal(plan) and self.random.random() < self.p
        if shown:
            self.shown.append(plan)
        return shown

    def keep(self, best: Plan, log: Sequence[Trial]) -> None:
        assert any(trial.reproduced and trial.candidate == best.to_json() for trial in log)
        self.kept.append(best)

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
def worlds(draw: st.DrawFn, *, p: st.SearchStrategy[float]) -> tuple[Schedule, World, Evidence]:
    schedule = draw(SCHEDULES)
    ids = [event.id for event in schedule.events]
    causes = draw(st.lists(st.frozensets(st.sampled_from(ids), max_size=3), min_size=1, max_size=3))
    lasting = {event.id: event.lasting for event in schedule.events}
    least = {each: draw(st.floats(0, lasting[each])) for each in ids if draw(st.booleans())}
    world = World(causes, p=draw(p), least=least, seed=draw(st.integers(0, 1000)))
    # What the evidence says may be wrong.
    some = st.frozensets(st.sampled_from(ids))
    return schedule, world, Evidence(suspects=draw(some), later=draw(some))


@given(worlds(p=st.just(1.0)))
@settings(deadline=None)
def test_the_result_is_the_cause_and_nothing_else(case: tuple[Schedule, World, Evidence]) -> None:
    schedule, world, evidence = case
    found = world.search(schedule, evidence=evidence).run()
    assert found.reproduced
    assert found.complete
    assert (found.hits, found.runs) == (3, 3)
    assert world.causal(found.best)
    assert found.best.clients == 3
    for each in found.best.ids:
        assert not world.causal(found.best.scheduled(found.best.schedule.without(each)))
    asked = [key for key, _ in groupby(json.dumps(plan.to_json()) for plan in world.runs)]
    # All runs of a candidate one after another, and never again; but for those that tell the rate at the end.
    assert len(asked) - len(set(asked)) <= 1
    assert asked.count(json.dumps(found.best.to_json())) == len(asked) - len(set(asked)) + 1


@given(worlds(p=st.floats(0.1, 1)))
@settings(deadline=None)
def test_every_kept_candidate_has_shown_the_anomaly(case: tuple[Schedule, World, Evidence]) -> None:
    schedule, world, evidence = case
    found = world.search(schedule, evidence=evidence).run()
    assert all(kept in world.shown for kept in world.kept)
    if found.reproduced:
        assert world.causal(found.best)
        assert world.kept[-1] == found.best
        assert found.runs == 3
        # In an order: each is a part of the one before.
        for earlier, later in zip(world.kept, world.kept[1:], strict=False):
            assert later.ids <= earlier.ids
    else:
        assert len(world.runs) == MOST_MISSES
        assert not world.kept


@given(worlds(p=st.floats(0.1, 1)), st.floats(1, 2000))
@settings(deadline=None)
def test_the_budget_is_exceeded_by_at_most_one_run(
    case: tuple[Schedule, World, Evidence], budget: float
) -> None:
    schedule, world, evidence = case
    world.search(schedule, evidence=evidence, budget=budget).run()
    last = BOOT + world.runs[-1].schedule.length
    assert world.now - last < budget


@given(worlds(p=st.floats(0.2, 1)), st.data())
@settings(deadline=None)
def test_an_interrupted_search_continues_from_the_best_and_repeats_no_trial(
    case: tuple[Schedule, World, Evidence], data: st.DataObject
) -> None:
    schedule, world, evidence = case
    whole = World(world.causes, p=world.p, least=world.least, seed=world.seed)
    expected = whole.search(schedule, evidence=evidence).run()
    world.interrupt = data.draw(st.integers(0, len(whole.runs) - 1))
    search = world.search(schedule, evidence=evidence)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    if world.kept:
        assert search.best == world.kept[-1]
    else:
        assert search.best == Plan(schedule)
    assert len(search.log) == world.interrupt

    world.interrupt = None
    before = list(world.kept)
    stored = [replace(trial, candidate=json.loads(json.dumps(trial.candidate))) for trial in search.log]
    again = world.search(schedule, evidence=evidence, seen=stored).run()
    # The same runs with the same answers as without the interruption: nothing was tested again.
    assert world.runs == whole.runs
    assert again == expected
    assert before == whole.kept[: len(before)]


def test_an_anomaly_that_hardly_ever_reproduces_is_not_shrunk() -> None:
    world = World([frozenset({"nothing like it"})])
    found = world.search(Schedule.of([kill("leader", lasting=3)])).run()
    assert not found.reproduced
    assert found.rate == 0
    assert len(world.runs) == MOST_MISSES
    assert not world.kept


def test_without_time_for_a_run_there_is_no_result() -> None:
    world = World([frozenset()])
    found = world.search(Schedule.of([kill("leader", lasting=3)]), budget=0).run()
    assert not found.reproduced
    assert not found.complete
    assert not world.runs


def test_an_anomaly_that_needs_no_fault_is_shrunk_to_no_events() -> None:
    world = World([frozenset()])
    found = world.search(Schedule.of([kill("leader", lasting=3), pause("leader", lasting=2)])).run()
    assert found.best.schedule == Schedule()


def test_a_candidate_that_cannot_be_run_is_rejected() -> None:
    world = World([frozenset({"kill-0"})])

    def reproduces(plan: Plan) -> bool:
        if plan.clients == 4:
            raise Impossible
        return world.reproduces(plan)

    start = Plan(Schedule.of([kill("leader", lasting=3), pause("leader", lasting=2)]))
    search = Shrink(start, reproduces, budget=1e9, clock=world.clock)
    found = search.run()
    assert found.best.ids == {"kill-0"}
    assert found.best.clients == 5
    assert (found.hits, found.runs) == (3, 3)


def test_hits_count_only_runs_after_the_acceptance() -> None:
    world = World([frozenset({"kill-0"})], p=0.5, seed=3)
    found = world.search(Schedule.of([kill("leader", lasting=3)])).run()
    last = [plan == found.best for plan in world.runs].count(True)
    assert found.runs == 3
    assert last > 3
    assert found.hits == [plan == found.best for plan in world.shown].count(True) - 1


@pytest.mark.parametrize(
    ("rate", "runs"), [(1, 1), (0.95, 1), (0.9, 2), (0.5, 5), (0.3, 9), (0.1, 9), (0, 9)]
)
def test_number_of_runs_after_which_a_candidate_is_rejected(rate: float, runs: int) -> None:
    assert misses_to_reject(rate) == runs


TOPOLOGY = Topology(
    brokers=(1, 2, 3),
    controllers=(1, 2, 3),
    topics={"log": 3},
    replicas=3,
    clients={"producer": 2, "reader": 2, "session": 1},
)


def twelve(seed: int) -> Schedule:
    wanted = Generated(seed=seed, length=70, events=16)
    return Schedule(generate(wanted, TOPOLOGY).events[:12])


@pytest.mark.parametrize("suspects", ["known", "unknown", "wrong"])
def test_one_event_of_twelve_is_found_within_fifteen_minutes(suspects: str) -> None:
    """The bar, by a clock that takes 15 s a run and the length of its schedule."""
    for seed in range(20):
        schedule = twelve(seed)
        assert len(schedule.events) == 12
        chosen = random.Random(seed).choice([event for event in schedule.events if event.lasting])
        at_work = frozenset(event.id for event in schedule.events if event.overlaps(chosen))
        evidence = {
            "known": Evidence(
                suspects=at_work,
                later=frozenset(event.id for event in schedule.events if event.at > chosen.end),
            ),
            "unknown": Evidence(),
            "wrong": Evidence(suspects=frozenset({schedule.events[0].id} - {chosen.id})),
        }[suspects]
        p = 1 if suspects == "wrong" else 0.9  # what misleads costs time
        world = World([frozenset({chosen.id})], p=p, least={chosen.id: min(3, chosen.lasting)}, seed=seed)
        found = world.search(schedule, budget=15 * MINUTES, evidence=evidence).run()
        assert chosen.id in found.best.ids
        assert len(found.best.ids) <= 2, (seed, found.best.ids)


@given(st.integers(1, 20), st.data())
def test_ddmin_finds_parts_none_of_which_can_be_removed(size: int, data: st.DataObject) -> None:
    needed = data.draw(st.frozensets(st.integers(0, size - 1)))
    asked = []

    def holds(parts: Sequence[int]) -> bool:
        assert list(parts) == sorted(parts)
        asked.append(tuple(parts))
        return needed <= set(parts)

    assert set(ddmin(range(size), holds, nothing=True)) == needed
    assert len(asked) <= size**2 + 3 * size


def test_ddmin_finds_one_part_of_twelve_with_few_trials() -> None:
    for needed in range(12):
        asked: list[int] = []
        ddmin(range(12), lambda parts, n=needed, seen=asked: seen.append(1) or n in parts)  # type: ignore[misc]
        assert len(asked) <= 8


def test_proposals_by_evidence_begin_with_the_smallest() -> None:
    schedule = Schedule.of([kill("leader", at=at, lasting=2).named(name) for at, name in enumerate("abcd")])
    known = Evidence(suspects=frozenset("b"), later=frozenset("cd"))
    assert [[event.id for event in cut.events] for _, cut in by_evidence(schedule, known)] == [
        ["b"],
        ["a", "b"],
        ["b", "c", "d"],
    ]
    assert not list(by_evidence(schedule, Evidence()))
    assert not list(by_evidence(schedule, Evidence(suspects=frozenset("abcd"))))


def test_classes_with_suspects_come_first_then_large_ones() -> None:
    schedule = Schedule.of([kill("leader", lasting=1), pause(1, lasting=1), pause(2, lasting=1), reset(1)])
    assert [sorted(kind) for kind in classes(schedule, {"reset-3"})] == [
        ["reset-3"], ["pause-1", "pause-2"], ["kill-0"],
    ]  # fmt: skip


@given(SCHEDULES)
def test_idle_time_is_removed_and_overlaps_are_kept(schedule: Schedule) -> None:
    for _, moved in closer(schedule):
        assert moved.length < schedule.length or any(event.fault.momentary for event in schedule.events)
        assert [event.id for event in moved.events] == [event.id for event in schedule.events]
        assert [event.lasting for event in moved.events] == [event.lasting for event in schedule.events]
        for (one, other), (now, then) in zip(
            combinations(schedule.events, 2), combinations(moved.events, 2), strict=True
        ):
            assert one.overlaps(other) == now.overlaps(then)
    tight = next((moved for _, moved in closer(schedule)), schedule)
    busy = 0.0
    for event in sorted(tight.events, key=lambda each: each.at):
        assert event.at - busy <= (GAP if busy else max(LEAD, GAP)) + 1e-6
        busy = max(busy, event.end)


def test_events_with_a_trigger_are_not_moved() -> None:
    schedule = Schedule.of([kill("leader", at=30, after="isr-shrink", lasting=2), pause(1, at=20, lasting=1)])
    (moved, *_) = [each for _, each in closer(schedule)]
    assert [event.at for event in moved.events] == [30, LEAD]


def test_durations_are_halved_down_to_a_floor() -> None:
    events: list[Event] = [kill("leader", lasting=8), pause(1, lasting=1.4), reset(1)]
    schedule = Schedule.of(events)
    half = shorter(schedule, [event.id for event in schedule.events])
    assert half is not None
    assert [event.lasting for event in half.events] == [4, 1, 0]
    assert shorter(schedule, ["reset-2"]) is None
