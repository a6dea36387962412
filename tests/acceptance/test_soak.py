"""A soak on a real cluster: it goes on after a SIGKILL, ends in seconds on Ctrl-C, and shrinks the first loss."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_kafkacheck.cli.exit_status import INTERRUPTED, NOT_AS_EXPECTED, UNKNOWN
from pytest_kafkacheck.cli.soak import load
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.soak.draw import candidate
from tests.support.real_cluster import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]

PLAN = """
from pytest_kafkacheck import AppendLog, Groups, Soak

SAFE = {"min.insync.replicas": 2}
soak = Soak(
    workloads=[AppendLog(topic_config=SAFE), Groups(topic_config=SAFE)],
    events=(1, 2), length=10, lasting=(2, 4), cooldown=8,
)
"""

ENDS_WITHIN = 15.0
"""Seconds from Ctrl-C to the end of the process. 5 are meant on a quiet machine, where a verdict is waited for until
3.5 s after the signal. With loads of 26 and 28 on two processors, a round ended in 8.2 and 11.7 s."""


def started(*arguments: object, cwd: Path) -> subprocess.Popen[str]:
    """With Ctrl-C as in a terminal, also where the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "pytest_kafkacheck", "soak", *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def rounds(folder: Path) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads((folder / "soak.json").read_text())["rounds"]
    except FileNotFoundError:
        return []
    return found


def under_load(folder: Path, number: int) -> Callable[[], bool]:
    """Whether the run of that round has begun to record."""
    return lambda: any(folder.glob(f"*-round-{number:05}-*/history/segments/*"))


def test_five_rounds_with_a_sigkill_in_the_middle(tmp_path: Path, owned: Callable[[int], list[str]]) -> None:
    (tmp_path / "plan.py").write_text(PLAN)
    folder = tmp_path / ".kafkacheck" / "soak-plan-1"
    command = ("plan.py", "--rounds", 5, "--keep", "all")
    first = started(*command, cwd=tmp_path)
    try:
        wait_until(lambda: under_load(folder, 3)() and len(rounds(folder)) == 2, limit=900)
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.communicate()
    before = rounds(folder)
    assert [each["number"] for each in before] == [1, 2]

    second = started(*command, "--json", "soak.json", cwd=tmp_path)
    second.communicate(timeout=1800)
    after = rounds(folder)
    assert [each["number"] for each in after] == [1, 2, 3, 4, 5]
    assert after[:2] == before
    assert not [each for each in after if each["result"] == "invalid"], after
    assert second.returncode in (0, UNKNOWN)
    assert json.loads((tmp_path / "soak.json").read_text())["rounds"] == 5
    kept = {each["path"] for each in after if each["path"]}
    assert {each.name for each in folder.iterdir() if each.is_dir()} == kept
    # Each round is drawn again by its number.
    for each in after:
        stored = Experiment.read(folder / each["path"] / "experiment.json")
        drawn = candidate(load(tmp_path / "plan.py"), 1, each["number"], each["draw"])
        assert drawn.schedule == stored.schedule
    assert not owned(first.pid)
    assert not owned(second.pid)


def test_ctrl_c_heals_removes_and_says_what_there_is(
    tmp_path: Path, owned: Callable[[int], list[str]]
) -> None:
    (tmp_path / "plan.py").write_text(PLAN)
    folder = tmp_path / ".kafkacheck" / "soak-plan-1"
    soak = started("plan.py", "--rounds", 5, cwd=tmp_path)
    try:
        # In the second round, so that the summary has one.
        wait_until(lambda: under_load(folder, 2)() and len(rounds(folder)) == 1, limit=600)
        began = time.monotonic()
        soak.send_signal(signal.SIGINT)
        out, _ = soak.communicate(timeout=60)
    finally:
        soak.kill()
    assert time.monotonic() - began < ENDS_WITHIN
    assert soak.returncode == INTERRUPTED
    assert "1 rounds in " in out
    assert not owned(soak.pid)


def test_two_clusters_side_by_side_share_a_soak(tmp_path: Path, owned: Callable[[int], list[str]]) -> None:
    (tmp_path / "plan.py").write_text(PLAN)
    folder = tmp_path / ".kafkacheck" / "soak-plan-1"
    command = ("plan.py", "--rounds", 4, "--keep", "all", "--clusters", 2)
    first = started(*command, cwd=tmp_path)
    try:
        wait_until(lambda: under_load(folder, 1)() and under_load(folder, 2)(), limit=600)
        clusters = psutil.Process(first.pid).children()
        assert len(clusters) == 2
        assert all(owned(each.pid) for each in clusters)
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.communicate()
    second = started(*command, "--json", "soak.json", cwd=tmp_path)
    second.communicate(timeout=1800)
    assert second.returncode in (0, UNKNOWN)
    assert sorted(each["number"] for each in rounds(folder)) == [1, 2, 3, 4]
    assert json.loads((tmp_path / "soak.json").read_text())["rounds"] == 4
    assert not any(owned(each.pid) for each in clusters), "the next soak removes what a killed one has left"


def test_the_first_loss_of_an_unsafe_setting_is_found_and_shrunk(tmp_path: Path) -> None:
    command = ("--preset", "unsafe", "--rounds", 20, "--stop-after", 1, "--shrink", 8)
    soak = started(*command, "--json", "soak.json", cwd=tmp_path)
    out, _ = soak.communicate(timeout=3000)
    assert soak.returncode == NOT_AS_EXPECTED, out
    # The round that was under load when it was found may show another cause.
    finding, *_ = json.loads((tmp_path / "soak.json").read_text())["findings"]
    assert "lost-write" in finding["anomalies"]
    run = tmp_path / ".kafkacheck" / "soak-unsafe-1" / finding["path"]
    assert "reproduced:" in finding["shrunk"]
    best = Experiment.read(run / "shrink" / "best.json").schedule.events
    assert len(best) < len(Experiment.read(run / "experiment.json").schedule.events)
