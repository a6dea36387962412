"""What a verdict says of a cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Finding
from analyzers.verdict.measures import Availability, LogAvailability, PhaseAvailability
from analyzers.verdict.verdict import Verdict, judge
from pytest_kafkacheck import ConfigMatrix, scenarios
from pytest_kafkacheck.matrix.cell import Cell
from pytest_kafkacheck.matrix.cell_result import shown

HOME = Path("runs/1")


def cell(scenario: str, **values: Any) -> Cell:
    return (ConfigMatrix(**{name: [value] for name, value in values.items()}) * scenarios(scenario)).cells[0]


def fault(event: str, acks: int, *, effective: bool = True) -> FaultExercised:
    return FaultExercised(
        event=event,
        fault=event.rpartition("-")[0],
        target="1",
        effective=effective,
        healed=True,
        acks_during=acks,
    )


def verdict(*faults: FaultExercised, **rest: Any) -> Verdict:
    return judge("r", exercised=Exercised(sends={"ok": 100, "info": 3}, faults=faults), **rest)


CUT, LAST_CUT, KILL = fault("partition-0", 50), fault("partition-1", 0), fault("kill-2", 7)


def test_writes_are_counted_in_the_window_of_the_scenario_whatever_the_order_in_the_history() -> None:
    seen = verdict(KILL, CUT, LAST_CUT)
    losing = cell("isr-of-one-killed", acks=1)
    assert shown(losing, HOME, seen).acks_in_window == 7
    refusing = (
        ConfigMatrix(topic_config={"min.insync.replicas": [2]}) * scenarios("isr-of-one-killed")
    ).cells[0]
    assert shown(refusing, HOME, seen).acks_in_window == 0
    assert shown(cell("power-loss"), HOME, verdict(fault("power-loss-0", 0))).acks_in_window is None


def test_a_fault_without_effect_is_unproved_and_what_is_unknown_a_doubt() -> None:
    seen = verdict(replace(KILL, effective=False), unknowns=["nothing was acknowledged after it"])
    of = shown(cell("leader-killed"), HOME, seen)
    assert of.unproved == ("kill of 1 had no effect",)
    assert of.doubts == ("nothing was acknowledged after it",)


def test_an_isr_that_did_not_shrink_is_unproved() -> None:
    seen = verdict(CUT, LAST_CUT, KILL)
    one, two = (replace(seen, exercised=replace(seen.exercised, smallest_isr=isr)) for isr in (1, 2))
    of = cell("isr-of-one-killed")
    assert shown(of, HOME, one).unproved == ()
    assert shown(of, HOME, two).unproved == (
        "the ISR never shrank to 1; the smallest one that was seen had 2 replicas",
    )


def test_losses_and_other_anomalies_are_told_apart() -> None:
    lost = Finding(anomaly="lost-write", count=9, summary="nine")
    reused = Finding(anomaly="offset-reuse", count=9, summary="nine")
    twice = Finding(anomaly="duplicate", count=1, summary="one")
    both = shown(cell("leader-killed"), HOME, verdict(KILL, findings=[lost, reused]))
    assert (both.lost, both.anomalies) == (9, ())
    alone = shown(cell("leader-killed"), HOME, verdict(KILL, findings=[reused, twice]))
    assert (alone.lost, alone.anomalies) == (0, ("duplicate", "offset-reuse"))
    allowed = shown(cell("leader-killed"), HOME, verdict(KILL, findings=[replace(twice, allowed=True)]))
    assert allowed.anomalies == ()


def test_without_acknowledgements_what_was_sent_counts() -> None:
    seen = shown(cell("leader-killed", acks=0), HOME, verdict(KILL), unacknowledged=(80, 12))
    assert (seen.written, seen.lost, seen.acks_in_window, seen.without_acks) == (80, 12, None, None)


def test_the_cost_comes_from_where_nothing_failed() -> None:
    start = PhaseAvailability(phase="start", sends=600, errors=0, latency_median=0.002, latency_99=0.02)
    steady = PhaseAvailability(phase="steady", sends=5000, errors=0, latency_median=0.9, latency_99=2.0)
    log = LogAvailability(topic="t", partition=0, longest_wait=3.2)
    seen = verdict(KILL, availability=Availability(logs=(log,), phases=(start, steady)))
    struck = shown(cell("leader-killed"), HOME, seen)
    assert (struck.latency_median, struck.without_acks, struck.throughput) == (0.002, 3.2, None)
    undisturbed = shown(cell("undisturbed"), HOME, seen)
    assert (undisturbed.latency_median, undisturbed.throughput) == (0.9, 1000)
