"""The first look never rules out a run in which a check finds something, whichever check it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analyzers.catalogue.check import Check
from analyzers.catalogue.registry import CHECKS
from analyzers.facts.fact import Fact, FirstLook
from analyzers.facts.registry import FACTS
from analyzers.history.load import History
from analyzers.judge import suspects as limits
from analyzers.judge.find import find
from analyzers.judge.first_look import plan
from analyzers.judge.suspects import Suspects, find_suspects
from tests.support.random_histories.logs import draw_histories, log_history
from tests.support.random_histories.transactions import transaction_history
from tests.support.repetitions import repetitions
from tests.support.stories.planted import ALL, PLANTED
from tests.support.stories.watermarks import sampled

pytestmark = pytest.mark.spark

HISTORIES = repetitions(150, shorter=25)

LOOKED_AT = [check for check in ALL if FACTS[check.over].looks]

BITS = 60
"""Facts that the first look tells apart at a time: the bits of a number."""

Counts = dict[tuple[str, str], int]
"""Of findings by anomaly and run."""


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    """Planted and random histories together."""
    stories = {make.__name__: make(story()) for make in PLANTED}
    for name, strategy in (("log", log_history), ("txn", transaction_history)):
        drawings = draw_histories(strategy(story), HISTORIES)
        stories |= {f"{name}-{run}": one for run, one in drawings.items()}
    return loaded(stories)


@pytest.fixture(scope="module")
def everything(history: History) -> Counts:
    """What the checks find without the first look."""
    return counts(history, ALL, lambda *_: Suspects(runs={}))


def counts(history: History, checks: Sequence[Check], look: Any = find_suspects) -> Counts:
    found, crashed = find(history, checks, examples=0, first_look=look)
    assert not crashed
    return {(one.anomaly, one.run): one.count for one in found}


def overlooked(history: History, check: Check, expected: Counts, look: FirstLook) -> set[str]:
    """The runs that this look rules out for the check alone, although it finds something there."""
    guilty = {run for name, run in expected if name == check.name}
    fact = replace(FACTS[check.over], looks=(look,))
    return guilty - find_suspects(history, [check], {check.over: fact}).runs[check.over]


@pytest.fixture(scope="module")
def suspicious(history: History) -> dict[str, frozenset[str]]:
    """By check: the runs that its own condition does not rule out. Each check counts as the only one of its fact."""

    def alone(check: Check) -> Fact:
        return replace(FACTS[check.over], name=check.name)

    return {
        name: runs
        for some in (ALL[:BITS], ALL[BITS:])
        for name, runs in find_suspects(
            history,
            [replace(check, over=check.name) for check in some],
            {check.name: alone(check) for check in some},
        ).runs.items()
    }


@pytest.mark.nightly  # by day, test_planted.py and test_oracles.py need what is suspected
@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_where_a_check_finds_something_the_first_look_suspects_it(
    everything: Counts, suspicious: Mapping[str, frozenset[str]], check: Check
) -> None:
    guilty = {run for name, run in everything if name == check.name}
    assert guilty, "an agreement on nothing proves nothing"
    assert (check.name in suspicious) == bool(FACTS[check.over].looks)
    assert guilty <= suspicious.get(check.name, guilty)


@pytest.mark.nightly
@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_a_check_counts_the_same_where_it_is_suspected(
    history: History, everything: Counts, check: Check
) -> None:
    """Confined to some runs, values and offsets, without any other check."""
    mine = {key: count for key, count in everything.items() if key[0] == check.name}
    assert counts(history, [check]) == mine


@pytest.mark.nightly  # by day, test_planted.py and test_oracles.py compare what is found so with what is expected
@pytest.mark.parametrize("many", [limits.MAX_RESIDUES, 0])
def test_all_checks_together_count_the_same(
    history: History, everything: Counts, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Also where there are too many suspects to look up each."""
    monkeypatch.setattr(limits, "MAX_RESIDUES", many)
    suspects = find_suspects(history, ALL)
    assert (suspects.values is None) == (many == 0), "whether facts are confined to suspicious values"
    assert counts(history, ALL, lambda *_: suspects) == everything


def too_narrow(look: FirstLook) -> list[FirstLook]:
    """The look without one of the alternatives of its rows, or with a stricter comparison, one at a time."""
    parts = [] if look.where == "true" else look.where.split(" or ")
    wheres = [" or ".join(p for p in parts if p is not part) or "false" for part in parts]
    return [replace(look, where=where) for where in wheres]


@pytest.mark.nightly
@pytest.mark.parametrize("check", LOOKED_AT, ids=lambda check: check.name)
def test_a_look_that_is_too_narrow_is_noticed(history: History, everything: Counts, check: Check) -> None:
    """The test above fails for it: the histories show what each row of each look is for."""
    look = FACTS[check.over].look(check.where)
    assert overlooked(history, check, everything, look) == set()
    if look.where == "shared is not null":
        return  # Of this the first look makes sure by itself: it cannot tell values at one offset apart.
    unnoticed = [
        narrow.where for narrow in too_narrow(look) if not overlooked(history, check, everything, narrow)
    ]
    assert unnoticed == []


def test_values_that_share_an_offset_are_suspicious_only_of_what_sessions_did(history: History) -> None:
    suspects = find_suspects(history, ALL)
    assert suspects.conflicting
    assert suspects.conflicting <= suspects.runs["session_reads"]
    assert not suspects.conflicting & suspects.runs["agreements"]


def test_what_brokers_report_for_a_while_is_not_suspicious(history: History) -> None:
    suspects = find_suspects(history, ALL)
    agreements, short = suspects.runs["agreements"], suspects.runs["acks_in_short_isr"]
    assert "brokers_that_never_agree" in agreements
    assert "brokers_that_agree" not in agreements
    assert "acknowledged_with_one_replica_in_sync" in short
    assert "acknowledged_with_one_replica_in_sync_for_a_moment" not in short


def test_facts_about_brokers_read_only_suspicious_logs(
    story: Any, loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = story()
    for at, mark in ((1, 5), (3, 9), (5, 7), (7, 8)):
        sampled(one, mark, (at, at + 1))
    one.observations += [{**row, "partition": 1, "high_watermark": row["time"]} for row in one.observations]
    history = loaded({"one": one})
    checks = [check for check in CHECKS if check.over == "watermarks"]
    suspects = find_suspects(history, checks)
    assert suspects.logs["watermarks"] == {("one", "t", 0)}

    def partitions() -> set[int]:
        part = suspects.confine(history, "watermarks", checks)
        assert part is not None
        return {row.partition for row in part.observations.collect()}

    assert partitions() == {0}
    assert counts(history, checks, lambda *_: suspects) == {("watermark-regression", "one"): 1}
    monkeypatch.setattr(limits, "MAX_LOGS", 0)
    assert partitions() == {0, 1}


def test_each_follower_of_a_second_is_compared(story: Any, loaded: Any) -> None:
    """One of two followers lacks records that were below the high watermark."""
    one, second = story(), 1_000_000_000
    for node, at, end in ((1, 1, 9), (1, 3, 9), (2, 4, 9), (3, 4, 5)):
        sampled(one, 9, (at * second, at * second + node), node=node)
        one.observations[-1] |= {"isr": [1, 2, 3], "log_end": end}
    checks = [check for check in CHECKS if check.over == "followers"]
    assert find_suspects(loaded({"one": one}), checks).runs["followers"] == {"one"}


@pytest.mark.parametrize(("outcome", "is_suspicious"), [("ok", False), ("fail", True), ("info", True)])
def test_only_a_deletion_that_was_done_explains_a_log_start(
    story: Any, loaded: Any, outcome: str, is_suspicious: bool
) -> None:
    one = sampled(sampled(story(), 9, (20, 25)), 9, (30, 35))
    for row in one.observations:
        row["log_start"] = 5
    one.operation(f="deletion", type=outcome, start_offset=0, end_offset=5, at=(10, 15))
    checks = [check for check in CHECKS if check.name == "unexplained-log-start"]
    assert bool(find_suspects(loaded({"one": one}), checks).runs["log_starts"]) == is_suspicious


def test_a_fact_without_a_look_is_always_computed(history: History) -> None:
    blind = {name: replace(fact, looks=()) for name, fact in FACTS.items()}
    assert plan(CHECKS, blind).facts == ()
    assert find_suspects(history, CHECKS, blind).runs == {}
    some = FACTS | {"values": blind["values"]}
    assert "values" not in plan(CHECKS, some).facts
    assert "steps" in plan(CHECKS, some).facts


def test_a_condition_that_a_look_cannot_decide_is_suspected_everywhere(history: History) -> None:
    (duplicate,) = (check for check in CHECKS if check.name == "duplicate")
    undecided = replace(duplicate, where="sender = 7")
    suspects = find_suspects(history, [undecided])
    sent = history.records.where("f = 'send' and value is not null")
    written = {row.run for row in sent.select("run").distinct().collect()}
    assert written <= suspects.runs["values"]


def test_a_check_that_the_first_look_was_not_asked_about_sees_the_whole_history(history: History) -> None:
    (lost,) = (check for check in CHECKS if check.name == "lost-write")
    (phantom,) = (check for check in CHECKS if check.name == "phantom-read")
    suspects = find_suspects(history, [lost])
    assert suspects.confine(history, "values", [lost]) is not history
    assert suspects.confine(history, "values", [lost, phantom]) is history
    assert suspects.confine(history, "session_reads", []) is history


def test_runs_without_a_suspect_are_not_examined(story: Any, loaded: Any) -> None:
    one = story().send(1 << 40, 0, session=7, at=(1, 10))
    one.poll(1 << 40, 0, process=20, session=7, at=(12, 15), node=1, leader_epoch=4, fetched=14)
    one.operation(f="read", session=7, process=20, start_offset=0, end_offset=1, at=(11, 20))
    sampled(one, 1, (20, 25))
    healthy = loaded({"healthy": one.final({0: 1 << 40}, end=1)})
    suspects = find_suspects(healthy, CHECKS)
    assert not any(suspects.runs.values())
    ordered = {"session_reads", "session_writes", "session_sends", "leader_polls"}
    assert ordered <= suspects.runs.keys()
    assert {fact: suspects.confine(healthy, fact, []) for fact in suspects.runs} == dict.fromkeys(
        suspects.runs
    )


def test_the_plan_names_its_steps() -> None:
    text = str(plan(CHECKS))
    for step in ("sightings", "by_offset", "by_value", "suspicious_values", "crowded", "overtaken"):
        assert f"-- {step}: " in text
    assert "overtaken" not in str(plan([check for check in CHECKS if check.name == "duplicate"]))
