"""xdist workers share one cluster, or have one each; a session that ends in any way leaves no cluster behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_cluster import wait_until
from tests.support.repetitions import repetitions

pytestmark = pytest.mark.cluster

FILE = """
import pathlib, time
import pytest
from pytest_kafkacheck import ClusterSpec

pytestmark = pytest.mark.kafkacheck(cluster=ClusterSpec(brokers=1, heap_mb=256))

@pytest.mark.parametrize("number", range(8))
def test_it(kafkacheck_cluster, number, worker_id):
    assert kafkacheck_cluster.healthy()
    pathlib.Path(f"seen-{number}").write_text(f"{worker_id} {kafkacheck_cluster.run}")
    for _ in range(600):
        if pathlib.Path("go").exists():
            return
        time.sleep(0.1)
"""

WORKERS = repetitions(4, shorter=2)


def seen(folder: Path) -> list[tuple[str, str]]:
    """(worker, cluster) of each test that has begun."""
    found = [file.read_text().split() for file in folder.glob("seen-*")]
    return [(each[0], each[1]) for each in found if len(each) == 2]


@pytest.mark.parametrize(
    ("share", "clusters"), [("all", 1), pytest.param("worker", WORKERS, marks=pytest.mark.nightly)]
)
def test_workers_share_a_cluster_or_have_one_each(
    session: Any, project: Path, owned: Callable[[int], list[str]], share: str, clusters: int
) -> None:
    (project / "test_readme.py").write_text(FILE)
    running = session("-n", str(WORKERS), f"--kafkacheck-share={share}")
    wait_until(lambda: len(seen(project)) >= WORKERS, limit=120)
    (project / "go").touch()
    assert running.wait() == pytest.ExitCode.OK, running.output
    assert {worker for worker, _ in seen(project)} == {f"gw{number}" for number in range(WORKERS)}
    assert len({run for _, run in seen(project)}) == clusters
    assert owned(running.pid) == []


@pytest.mark.parametrize("moment", ["in use", pytest.param("starting", marks=pytest.mark.nightly)])
def test_ctrl_c_in_the_middle_leaves_nothing_of_a_shared_cluster(
    session: Any, project: Path, owned: Callable[[int], list[str]], moment: str
) -> None:
    (project / "test_readme.py").write_text(FILE)
    running = session("-n", str(WORKERS), "--kafkacheck-share=all")
    wait_until(lambda: len(seen(project)) >= WORKERS if moment == "in use" else owned(running.pid), limit=120)
    # Ctrl-C in a terminal sends SIGINT to the controller and to all workers.
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(limit=90) == pytest.ExitCode.INTERRUPTED, running.output
    assert owned(running.pid) == []


@pytest.mark.nightly
@pytest.mark.parametrize("share", ["all", "worker"])
def test_a_controller_that_is_terminated_leaves_nothing(
    session: Any, project: Path, owned: Callable[[int], list[str]], share: str
) -> None:
    """A cancelled job of continuous integration sends SIGTERM to the controller, which ends the workers."""
    (project / "test_readme.py").write_text(FILE)
    running = session("-n", "2", f"--kafkacheck-share={share}")
    wait_until(lambda: len(seen(project)) >= 2, limit=120)
    workers = [each.pid for each in running.descendants()]
    running.signal(signal.SIGTERM)
    running.wait(limit=90)
    wait_until(lambda: not any(owned(pid) for pid in [running.pid, *workers]), limit=60)


@pytest.mark.nightly
def test_a_worker_that_is_killed_while_it_starts_the_cluster_is_replaced(
    session: Any, project: Path, owned: Callable[[int], list[str]]
) -> None:
    (project / "test_readme.py").write_text(FILE)
    (project / "go").touch()
    running = session("-n", "1", "--kafkacheck-share=all")
    wait_until(lambda: any("kafka1" in name for name in owned(running.pid)), limit=120)
    (worker,) = (each for each in running.descendants() if each.ppid() == running.pid)
    worker.kill()
    assert running.wait() == pytest.ExitCode.TESTS_FAILED, running.output
    assert "7 passed" in running.output
    assert owned(running.pid) == []
