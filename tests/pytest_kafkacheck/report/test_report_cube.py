"""The vectorised counts equal those of a loop, on random sends and polls."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from pytest_kafkacheck.report.cube import FINER, OUTCOMES, STEPS, cube, latency_of
from tests.support.report_runs import BEGAN, SECOND, planted, poll, send


@pytest.mark.parametrize("seed", range(5))
def test_cells_equal_a_naive_count(seed: int) -> None:
    rng = random.Random(seed)
    records = [_record(rng, number) for number in range(300)]
    run = planted(records=records)
    width = run.axis.width
    expected: Counter[tuple[int, tuple[str, int], int, str]] = Counter()
    for row in records:
        if row["f"] == "poll" and row["final"]:
            continue
        outcome = "polled" if row["f"] == "poll" else row["type"]
        is_done = outcome in ("ok", "polled") and row["completed"] is not None
        time = row["completed"] if is_done else row["invoked"]
        ms = (BEGAN + round(time * SECOND) - run.axis.began) // 1_000_000
        expected[ms // width, (row["topic"], row["partition"]), row["process"], outcome] += 1
    counts = cube(run)
    found: Counter[tuple[int, tuple[str, int], int, str]] = Counter()
    for cell in counts.cells:
        found[cell.bucket, counts.logs[cell.log], cell.process, OUTCOMES[cell.outcome]] += cell.total
    assert found == expected


def _record(rng: random.Random, number: int) -> dict[str, object]:
    more = {"topic": rng.choice("ab"), "partition": rng.randrange(4), "process": rng.randrange(70_000)}
    at = rng.random() * 30
    if rng.random() < 0.5:
        return poll(number, at, final=rng.random() < 0.2, **more)
    took = rng.choice([None, rng.random() * 3])
    return send(
        number, at, took, **more, **({} if took is None else {"type": rng.choice(["ok", "info", "fail"])})
    )


@pytest.mark.parametrize("ms", [0.01, 0.0625, 0.9, 1, 12.5, 4_000, 90_000])
def test_the_class_of_a_latency_is_at_most_a_fifth_too_high(ms: float) -> None:
    (cell,) = cube(planted(records=[send(0, 1, ms / 1000)])).cells
    bound = latency_of(cell.latency + 1)
    assert bound >= ms * 0.999
    assert bound <= max(ms, 1 / 16) * 2 ** (1 / STEPS) * 1.001


def test_a_send_at_a_rate_is_late_from_when_it_was_due() -> None:
    (cell,) = cube(planted(records=[send(0, 5, 0.001, intended=4)])).cells
    assert 1000 <= latency_of(cell.latency + 1) <= 1200


def test_finer_counts_add_up_to_those_of_the_buckets() -> None:
    rng = random.Random(7)
    run = planted(records=[_record(rng, number) for number in range(300)])
    counts = cube(run)
    for outcome, fine in counts.fine.items():
        summed = [sum(fine[at : at + FINER]) for at in range(0, len(fine), FINER)]
        assert summed == counts.per_bucket(outcome, run.axis.buckets)
