"""Repeatedly: nothing is left of clusters, however they end, and other clusters are not touched."""

from __future__ import annotations

import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from tests.support.real_cluster import objects, own

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(3600)]

CYCLES = int(os.environ.get("KAFKACHECK_CYCLES", "50"))
KILLS = int(os.environ.get("KAFKACHECK_KILLS", "30"))


def everything(engine: Any) -> set[str]:
    return {part.id for parts in reaper.parts_by_run(engine).values() for part in parts} | {
        each["Name"] for each in engine.api.volumes()["Volumes"] or ()
    }


def test_repeated_starts_and_stops_leave_nothing(engine: Any, tmp_path: Path) -> None:
    before = everything(engine)
    took = []
    for number in range(CYCLES):
        began = time.monotonic()
        with running(engine, ClusterSpec(), run=f"cycle-{number}", logs=tmp_path):
            took.append(time.monotonic() - began)
        assert everything(engine) == before, f"after cycle {number}"
    first, last = statistics.median(took[:10]), statistics.median(took[-10:])
    sys.stdout.write(f"{CYCLES} cycles, median start {first:.2f} s at first, {last:.2f} s at last\n")
    assert last < 1.5 * first, f"starts get slower: {[round(each, 1) for each in took]}"


SESSION = """
import sys
from pathlib import Path
from pytest_kafkacheck.cluster.docker.boot import running
from pytest_kafkacheck.cluster.docker.engine import connect
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
with running(connect(), ClusterSpec(), run=sys.argv[1], logs=Path(sys.argv[2])):
    pass
"""


def test_a_kill_at_any_moment_leaves_nothing(engine: Any, tmp_path: Path) -> None:
    """Moments from the first call to the end of the teardown, while a living session has another cluster."""
    seed = int(os.environ.get("KAFKACHECK_SEED", time.time()))
    sys.stdout.write(f"KAFKACHECK_SEED={seed}\n")
    chance = random.Random(seed)
    with running(engine, ClusterSpec(brokers=1), run=own("living"), logs=tmp_path) as living:
        before = everything(engine)
        length = _session("whole", tmp_path, limit=None)
        assert everything(engine) == before
        left = 0
        for number in range(KILLS):
            run = f"killed-{number}"
            _session(run, tmp_path, limit=chance.uniform(0.3, length))
            left += bool(objects(engine, run))
            reaper.sweep(engine)  # every start begins with this
            # The engine may still complete a request of the dead client; a second clean-up finds that object.
            time.sleep(0.5)
            reaper.sweep(engine)
            assert everything(engine) == before, f"after kill {number} of seed {seed}"
        assert living.healthy()
    sys.stdout.write(f"{left} of {KILLS} kills left something, which the next start removed\n")
    assert left, "no kill happened while the session had objects"


def _session(run: str, folder: Path, *, limit: float | None) -> float:
    """Seconds that the session took, or after which it was killed."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", SESSION, run, str(folder)])
    try:
        process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return time.monotonic() - began
