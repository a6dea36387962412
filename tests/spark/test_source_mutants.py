"""Each part of the prefilter and of the facts behind several checks matters: without it, a planted history is judged
differently.

Conditions of checks have mutants of their own, see ``test_mutants``. All of them run each night: by day,
``test_planted`` judges these histories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from analyzers.catalogue.registry import CHECKS
from analyzers.facts import coverage, final_reads, transactional_writes
from analyzers.history.load import History
from analyzers.judge import prefilter, prefilter_order, prefilter_plan
from analyzers.judge.find import find
from analyzers.judge.prefilter import Suspects
from tests.support.source_mutants import mutated
from tests.support.stories.planted import PLANTED

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

JUDGED = [check for check in CHECKS if check.name in ("lost-write", "realtime-order", "torn-transaction")]
"""Between them they use all that is mutated here."""

Counts = dict[tuple[str, str], int]
"""Of findings by anomaly and run."""


@pytest.fixture(scope="module")
def history(story: Any, loaded: Any) -> History:
    result: History = loaded({make.__name__: make(story()) for make in PLANTED})
    return result


def counts(history: History, look: Any) -> Counts:
    found, crashed = find(history, JUDGED, examples=0, prefilter=look)
    assert not crashed
    return {(one.anomaly, one.run): one.count for one in found}


@pytest.fixture(scope="module")
def expected(history: History) -> Counts:
    """Without the prefilter."""
    return counts(history, lambda *_: Suspects(runs={}))


def test_the_prefilter_changes_nothing(history: History, expected: Counts) -> None:
    suspects = prefilter.find_suspects(history, JUDGED)
    assert suspects.values is not None
    assert len(suspects.values) < prefilter.MAX_RESIDUES, "the prefilter narrows facts down to some values"
    assert counts(history, lambda *_: suspects) == expected


BLOCKS = "explode(array(block, coalesce(later.block, block)))"
ALL_HIGHER = "unbounded preceding and 1 preceding\n        ) as later"

STEPS = {
    "no look at higher blocks": (" or later.at <= last", ""),
    "no look into a block": ("first <= last or later.at <= last", "later.at <= last"),
    "the next block only": (ALL_HIGHER, ALL_HIGHER.replace("unbounded", "1")),
    "without the block of the overtaker": (BLOCKS, "block"),
    "only the block of the overtaker": (BLOCKS, "coalesce(later.block, block)"),
    "the last acknowledgement of a block": ("min(completed) as first", "max(completed) as first"),
    "the first invocation of a block": ("max(invoked) as last", "min(invoked) as last"),
    "overtaken by a lower offset": ("order by offset desc range", "order by offset range"),
}
"""Mutants of the steps that find overtaken sends."""


def test_no_step_of_the_prefilter_can_be_altered_unnoticed(history: History, expected: Counts) -> None:
    """All mutants run in one job. Each must rule out a run in which realtime-order is found."""
    (check,) = (check for check in JUDGED if check.name == "realtime-order")
    plans = {"original": prefilter_plan.plan([check])} | {
        name: mutated(prefilter_plan, *change)["plan"]([check]) for name, change in STEPS.items()
    }
    each = (
        f"select {number} as mutant, run from ({plan.sql()})" for number, plan in enumerate(plans.values())
    )
    suspected: Mapping[str, set[str]] = {name: set() for name in plans}
    for row in history.sql(" union all ".join(each)).collect():
        suspected[[*plans][row.mutant]].add(row.run)
    guilty = {run for anomaly, run in expected if anomaly == check.name}
    survivors = [name for name, runs in suspected.items() if guilty <= runs]
    assert survivors == ["original"]


ORDERED = [check for check in CHECKS if check.suspicion and check.suspicion.per in prefilter_order.GRAINS]

ORDER_STEPS = {
    "a read that ends after one that begins then": ("ENDED, BEGINS, ", "BEGINS, ENDED, "),
    "gaps within a poll": (
        "count_if(within and offset = previous + 1) = count(*) - 1 and max(offset) - min(offset) = count(*) - 1\n"
        "                and ",
        "",
    ),
    "damaged records of a poll": ("and count_if(error is not null) = 0 as", "as"),
    "the lowest offset of a poll": ("max(offset) as high,\n", "min(offset) as high,\n"),
    "the lowest poll so far": ("max(high) over before", "min(high) over before"),
    "the lowest write so far": ("max(ack) over before", "min(ack) over before"),
    "the highest write as the earliest": ("min(ack) over before", "max(ack) over before"),
    "the lowest end so far": ("max(end) over before", "min(end) over before"),
    "the highest watermark": ("min(high_watermark)", "max(high_watermark)"),
    "earlier watermarks": ("order by at desc", "order by at"),
    "the lowest record of a poll": ("max(offset) as offset", "min(offset) as offset"),
    "the last event only": (
        "at, rank rows between unbounded preceding and 1 preceding",
        "at, rank rows between 1 preceding and 1 preceding",
    ),
    "lower marks of earlier leaders": ("as least_end, max(mark) over", "as least_end, max(mark - 100) over"),
    "earlier epochs of a broker": (
        "partition by run, kind, topic, partition, node order by leader_epoch desc",
        "partition by run, kind, topic, partition, node order by leader_epoch",
    ),
    "leaders that one broker named": (
        "by_epoch as (partition by run, kind, topic, partition, leader_epoch)",
        "by_epoch as (partition by run, kind, topic, partition, leader_epoch, node)",
    ),
    "a short ISR only once": ("as short_for", "- {1 << 40} as short_for"),
}
"""Mutants of the steps about the order of what sessions and leaders did."""


@pytest.mark.parametrize("change", ORDER_STEPS.values(), ids=[*ORDER_STEPS])
def test_no_step_about_order_can_be_altered_unnoticed(
    history: History, in_order: Counts, change: tuple[str, str]
) -> None:
    """Each mutant rules out a run in which one of the checks finds something."""
    plan = mutated(prefilter_order, *change)["order_plan"](ORDERED)
    rows = history.sql(plan.sql(preamble="").replace("{session_filter}", "true")).collect()
    suspected = {
        (fact, row.run) for row in rows for bit, fact in enumerate(plan.facts) if row.suspects >> bit & 1
    }
    facts = {check.name: check.over for check in ORDERED}
    conflicting = prefilter.find_suspicious_values(history, ORDERED).conflicting or set()
    assert {
        (name, run)
        for name, run in in_order
        if run not in conflicting and (facts[name], run) not in suspected
    }


@pytest.fixture(scope="module")
def in_order(history: History) -> Counts:
    """What the checks about order find without the prefilter."""
    found, crashed = find(history, ORDERED, examples=0, prefilter=lambda *_: Suspects(runs={}))
    assert not crashed
    return {(one.anomaly, one.run): one.count for one in found}


def test_the_other_values_at_an_offset_are_looked_up(history: History, expected: Counts) -> None:
    look = mutated(prefilter, "values |= _residues(row.bits for row in bitmaps)", "pass")["find_suspects"]
    assert counts(history, look) != expected


def test_the_last_final_read_is_the_one_that_ended_last(
    history: History, expected: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_invocation = mutated(final_reads, "struct(completed, invoked,", "struct(invoked, completed,")
    monkeypatch.setattr(final_reads, "FINAL_READS", by_invocation["FINAL_READS"])
    altered = counts(history, lambda *_: Suspects(runs={}))
    differing = {run for (_, run), _ in altered.items() ^ expected.items()}
    assert differing == {
        "found_by_the_final_read_that_ended_last", "lost_before_the_final_read_that_ended_last",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "torn"),
    [
        (
            '"end_offset - 1 as high"',
            '"end_offset as high"',
            ["transaction_up_to_the_end_of_a_read", "opposite_orders_with_two_records_of_one"],
        ),
        ('"start_offset as low"', '"start_offset - 1 as low"', ["transaction_up_to_the_end_of_a_read"]),
    ],
)
def test_a_read_covers_exactly_its_offsets(
    history: History, expected: Counts, monkeypatch: pytest.MonkeyPatch, old: str, new: str, torn: list[str]
) -> None:
    monkeypatch.setattr(transactional_writes, "coverage", mutated(coverage, old, new)["coverage"])
    altered = counts(history, lambda *_: Suspects(runs={}))
    assert altered == expected | {("torn-transaction", run): 1 for run in torn}
