"""A run of a million sends: its report stays small, and says the same as that of a small one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kafkacheck.report.cube import cube
from pytest_kafkacheck.report.lives import lives
from pytest_kafkacheck.report.render import report
from pytest_kafkacheck.report.run_data import read_run
from tests.support.large_run import READERS, large_run

MOST_BYTES = 5_000_000


@pytest.mark.parametrize("sends", [20_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_a_large_run_has_a_small_and_complete_report(tmp_path: Path, sends: int) -> None:
    run = read_run(large_run(tmp_path / "run", sends=sends, seconds=600))
    page = report(run)
    assert len(page.encode()) < MOST_BYTES
    counts = cube(run)
    totals = {
        each: sum(counts.per_bucket(each, run.axis.buckets)) for each in ("ok", "info", "fail", "polled")
    }
    assert totals == {"ok": sends * 99 // 100, "info": sends // 100, "fail": 0, "polled": READERS * sends}
    (life,) = lives(run)["lost-write"]
    assert [event.who for event in life.events if event.time is not None][:2] == ["producer 1", "producer 1"]
    for text in (
        "isolate-0 (broker 1)",
        "t-11: leader and ISR",
        "node 3 sees controller 2, epoch 4",
        "not in sync",
    ):
        assert text in page
