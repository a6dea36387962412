"""The benchmark of live judging, with minutes instead of a day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.live import Session, ratios, replay

# By day, test_live.py and test_live_borders.py judge windows.
pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(900)]

WINDOWS = 40


def test_each_lost_write_is_reported_once(spark: Any, tmp_path: Path) -> None:
    figures = replay(tmp_path, Session(spark), hours=WINDOWS * 40 / 3600, rate=20, window=40, lost_per=40)
    assert (figures["windows"], figures["lost"], figures["missed"]) == (WINDOWS, WINDOWS, 0)
    # An offset that readers show with another value than its acknowledgement.
    assert figures["found"] == {"lost-write": WINDOWS, "offset-reuse": WINDOWS}
    assert len(figures["said"]) == 2
    assert ratios(figures).keys() == {"python", "jvm", "heap", "time"}
