"""Neither memory nor disk of a soak grows with its rounds: 60, with recorded histories in place of clusters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck.soak.clusters import JUDGE_MB
from pytest_kafkacheck.soak.soak import BLOCK
from tests.support.soak_replays import MOST_BYTES

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]

FLAT = 1.15
"""Memory at the end of the last block of rounds / at the end of the first one."""

WAITING = 0.4
"""MB of two runs."""


def replayed(folder: Path, *, rounds: int, leak: int) -> list[dict[str, float]]:
    """MB after each round."""
    command = [sys.executable, "-m", "tests.support.soak_replays", str(folder), str(rounds), str(leak)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_memory_and_disk_stay_flat(tmp_path: Path) -> None:
    samples = replayed(tmp_path, rounds=3 * BLOCK, leak=0)
    assert len(samples) == 3 * BLOCK
    blocks = [samples[first : first + BLOCK] for first in range(0, 3 * BLOCK, BLOCK)]
    for what in ("python", "blocks"):
        figures = [block[-1][what] for block in blocks]
        assert figures[-1] <= FLAT * figures[0], (what, figures)
    assert max(each["python"] + each["jvm"] for each in samples) <= JUDGE_MB * 1.048576  # it is in MiB
    # Runs are removed before a round is reported, and one more may wait for its verdict.
    assert max(each["folder"] for each in samples) <= MOST_BYTES / 1e6 + WAITING
    assert sum(each["folder"] > MOST_BYTES / 2e6 for each in samples) > BLOCK, "the limit was reached"


def test_a_leak_is_noticed(tmp_path: Path) -> None:
    samples = replayed(tmp_path, rounds=BLOCK, leak=4)
    assert samples[-1]["python"] > FLAT * samples[BLOCK // 2]["python"]
