"""A soak on several clusters: which process runs which rounds, and what ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from nemesis.tasks import wait_until
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.soak.draw import WHOLE, Part
from pytest_kafkacheck.soak.limits import Limits
from pytest_kafkacheck.soak.side_by_side import run_side_by_side
from pytest_kafkacheck.soak.soak import soak
from pytest_kafkacheck.soak.state import SoakFolder
from tests.support.fake_lab import FakeLab, at_once, shows
from tests.support.processes import is_alive
from tests.support.soak_process import CLUSTERS, PLAN, ROUNDS

COMMAND = ("-m", "tests.support.soak_process")


def numbers(folder: Path) -> list[int]:
    return [each.number for each in SoakFolder(folder).read(PLAN, 1).rounds]


def test_parts_share_the_numbers_whatever_has_ended_already() -> None:
    assert WHOLE.next({1, 2, 4}) == 3
    first, second = Part(1, 2), Part(2, 2)
    assert [first.next({1, 2, 3}), second.next({1, 2, 3}), second.next(())] == [5, 4, 2]
    assert [[part.has(number) for number in (1, 2, 3, 4)] for part in (first, second)] == [
        [True, False, True, False],
        [False, True, False, True],
    ]


def test_a_round_is_the_same_whatever_the_number_of_clusters(tmp_path: Path) -> None:
    def draws(folder: Path, *parts: Part, rounds: int = 4) -> dict[int, int]:
        folder.mkdir()
        for part in parts:
            lab = FakeLab(folder)
            limits = Limits(rounds=rounds, keep="all")
            state = soak(PLAN, lab, SoakFolder(folder), limits, seed=1, part=part, start=at_once)
        return {each.number: each.draw for each in state.rounds}

    together = draws(tmp_path / "a", Part(1, 2), Part(2, 2))
    assert list(together) == [1, 3, 2, 4], "in the order in which they have ended"
    assert together[1] == draws(tmp_path / "b", WHOLE)[1], "which of the candidates depends on what was seen"
    # Another number of clusters goes on with the same soak.
    assert sorted(draws(tmp_path / "c", Part(2, 3), WHOLE)) == [1, 2, 3, 4]


def test_each_finding_is_shrunk_once(tmp_path: Path) -> None:
    def shrunk(cluster: int, **limits: Any) -> int:
        lab = FakeLab(tmp_path, verdict=lambda each: shows(each, lost=True))
        ends = Limits(rounds=4, **limits)
        soak(PLAN, lab, SoakFolder(tmp_path), ends, seed=1, part=Part(cluster, 2), start=at_once)
        return len(lab.shrunk)

    assert shrunk(1) == 0
    assert shrunk(2, shrink=60.0) == 0, "its rounds show the same cause as one of the first cluster"
    assert shrunk(1, shrink=60.0) == 1


def test_rounds_that_end_at_the_same_time_are_all_noted(tmp_path: Path) -> None:
    def run(part: Part) -> None:
        soak(PLAN, FakeLab(tmp_path), SoakFolder(tmp_path), Limits(rounds=12), seed=1, part=part)

    threads = [threading.Thread(target=run, args=(Part(cluster, 3),)) for cluster in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers(tmp_path)) == list(range(1, 13))


def test_processes_have_one_state(tmp_path: Path) -> None:
    lines: list[str] = []
    run_side_by_side([*COMMAND, str(tmp_path)], CLUSTERS, write=lines.append)
    assert sorted(numbers(tmp_path)) == list(range(1, ROUNDS + 1))


def test_one_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    lines: list[str] = []
    with pytest.raises(
        InfrastructureError, match=r"cluster 2 of 2 ended with status 4, see the lines .* \[2\]"
    ):
        run_side_by_side([*COMMAND, str(tmp_path), "fails"], CLUSTERS, write=lines.append)
    assert lines == ["[2] no broker became ready\n"]
    assert numbers(tmp_path) == [1, 3, 5]


def waiting(folder: Path) -> Callable[[], bool]:
    return lambda: len(list(folder.glob("waits-*"))) == CLUSTERS


def test_an_interrupt_lets_all_of_them_clean_up(tmp_path: Path) -> None:
    def interrupt() -> None:
        if wait_until(waiting(tmp_path), limit=60):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run_side_by_side([*COMMAND, str(tmp_path), "waits"], CLUSTERS)
    assert {each.name for each in tmp_path.glob("ended-*")} == {"ended-1", "ended-2"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a process with its parent")
def test_they_die_with_the_process_that_was_killed(tmp_path: Path) -> None:
    call = (
        "from pytest_kafkacheck.soak.side_by_side import run_side_by_side; "
        f"run_side_by_side({[*COMMAND, str(tmp_path), 'waits']!r}, {CLUSTERS})"
    )
    parent = subprocess.Popen([sys.executable, "-c", call])
    try:
        assert wait_until(waiting(tmp_path), limit=60)
        children = psutil.Process(parent.pid).children()
        assert len(children) == CLUSTERS
    finally:
        parent.kill()
        parent.wait()
    assert wait_until(lambda: not any(map(is_alive, children)), limit=10)
