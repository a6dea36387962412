"""Shrinking on a simulated cluster: the cause of its anomaly and the duration of a run are known."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.generate import Generated, generate
from nemesis.schedule import Schedule
from nemesis.shrink.rate import MOST_MISSES
from nemesis.shrink.reductions import Evidence
from nemesis.shrink.runs import Impossible
from nemesis.shrink.search import CONFIRMING, Shrink
from nemesis.topology import Topology
from pytest_kafkacheck import kill, pause
from tests.support.flaky_world import BOOT, FEWEST, Plan, World, worlds

MINUTES = 60.0


@given(worlds(p=st.just(1.0)))
@settings(deadline=None)
def test_the_result_is_the_cause_and_nothing_else(case: tuple[Schedule, World, Evidence]) -> None:
    schedule, world, evidence = case
    found = world.search(schedule, evidence=evidence).run()
    assert found.reproduced
    assert found.complete
    assert found.is_reliable
    assert (found.hits, found.runs) == (CONFIRMING, CONFIRMING)
    assert world.rate(found.best) == 1
    assert found.best.clients == FEWEST
    for each in found.best.ids:
        assert not world.rate(found.best.scheduled(found.best.schedule.without(each)))
    for plan in world.runs:
        # None is tried again, but for those whose rate is confirmed: the result without and with its durations.
        again = world.runs.count(plan) > 1
        assert not again or any(kept.best == plan and kept.confirmed for kept in world.kept)


@given(worlds(p=st.floats(0.1, 1), short=st.floats(0, 1)))
@settings(deadline=None)
def test_every_kept_candidate_has_shown_the_anomaly(case: tuple[Schedule, World, Evidence]) -> None:
    schedule, world, evidence = case
    found = world.search(schedule, evidence=evidence).run()
    assert found.complete
    assert all(kept.best in world.shown for kept in world.kept)
    if found.reproduced:
        assert world.rate(found.best)
        assert world.kept[-1].best == found.best
        assert found.confirmed
        # The hits that are reported are those of runs of the result, without the one that selected it.
        of_result = world.runs.count(found.best)
        assert found.runs <= of_result
        assert found.hits <= world.shown.count(found.best)
        if len(found.best.ids) < len(schedule.events):
            assert found.runs < of_result
        if found.is_reliable:
            assert found.hits >= 0.8 * found.runs >= 0.8 * CONFIRMING
    else:
        assert world.runs.count(Plan(schedule)) == MOST_MISSES


@given(worlds(p=st.floats(0.1, 1)), st.floats(1, 2000))
@settings(deadline=None)
def test_the_budget_is_exceeded_by_at_most_one_run(
    case: tuple[Schedule, World, Evidence], budget: float
) -> None:
    schedule, world, evidence = case
    world.search(schedule, evidence=evidence, budget=budget).run()
    last = BOOT + world.runs[-1].schedule.length
    assert world.now - last < budget


@given(worlds(p=st.floats(0.2, 1), short=st.floats(0, 1)), st.data())
@settings(deadline=None)
def test_an_interrupted_search_continues_from_the_best_and_repeats_no_trial(
    case: tuple[Schedule, World, Evidence], data: st.DataObject
) -> None:
    schedule, world, evidence = case
    whole = World(world.causes, p=world.p, least=world.least, short=world.short, seed=world.seed)
    expected = whole.search(schedule, evidence=evidence).run()
    world.interrupt = data.draw(st.integers(0, len(whole.runs) - 1))
    search = world.search(schedule, evidence=evidence)
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert len(search.log) == world.interrupt
    progress = search.progress()
    if progress.confirmed and progress.best.ids < Plan(schedule).ids:
        assert world.runs.count(progress.best) > progress.runs

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
    assert found.complete
    # One of a simpler form, which might have been enough.
    assert len(world.runs) == MOST_MISSES + 1
    assert world.renewed == MOST_MISSES, "the unchanged experiment is not affected by earlier runs"
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
    found = Shrink(start, reproduces, budget=1e9, clock=world.clock).run()
    assert found.best.ids == {"kill-0"}
    assert found.is_reliable


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
        p = 0.9 if suspects == "known" else 1  # a wrong start of the search costs time
        world = World([frozenset({chosen.id})], p=p, least={chosen.id: min(3, chosen.lasting)}, seed=seed)
        found = world.search(schedule, budget=15 * MINUTES, evidence=evidence).run()
        assert chosen.id in found.best.ids
        assert len(found.best.ids) <= 2, (seed, found.best.ids)
