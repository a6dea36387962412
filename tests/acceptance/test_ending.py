"""A session that is interrupted, terminated or killed leaves no container, network or process behind."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from pytest_kafkacheck.cli import main as cli
from tests.support.processes import is_alive
from tests.support.real_cluster import wait_until

pytestmark = pytest.mark.cluster

Owned = Callable[[int], list[str]]


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGINT, "load is on"),
        (signal.SIGTERM, "starting 3 brokers"),
        pytest.param(signal.SIGINT, "starting 3 brokers", marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, "load is on", marks=pytest.mark.nightly),
    ],
)
def test_interrupted_session_removes_everything(
    session: Any, owned: Owned, moment: str, number: signal.Signals
) -> None:
    running = session()
    running.wait_for(moment)
    clients = running.descendants()
    running.signal(number)
    running.wait_for("interrupted: cleaning up")
    assert running.wait(limit=90) == pytest.ExitCode.INTERRUPTED, running.output
    assert owned(running.pid) == []
    _wait_gone(clients)


CLUSTER_ONLY = """
import pathlib, time
import pytest
from pytest_kafkacheck import ClusterSpec

@pytest.mark.kafkacheck(cluster=ClusterSpec(brokers=1, heap_mb=256))
def test_it(kafkacheck_cluster):
    pass

def test_something_else():
    pathlib.Path("there").touch()
    time.sleep(300)
"""


def test_terminated_between_two_uses_of_a_cluster(session: Any, owned: Owned, project: Path) -> None:
    (project / "test_readme.py").write_text(CLUSTER_ONLY)
    running = session()
    wait_until((project / "there").exists)
    assert owned(running.pid)
    running.signal(signal.SIGTERM)
    assert running.wait(limit=90) == pytest.ExitCode.INTERRUPTED, running.output
    assert owned(running.pid) == []


def test_killed_session_is_swept_at_the_next_start_and_its_history_can_be_judged(
    session: Any, owned: Owned, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running = session()
    running.wait_for("isolate inject")
    clients = running.descendants()
    (scratch,) = {Path(each.cwd()) for each in clients if each.name() == "java"}
    running.signal(signal.SIGKILL)
    running.wait()
    assert scratch.exists()
    assert owned(running.pid), "a SIGKILL leaves the brokers: that is what the next start is for"
    # Clients and Spark notice that the session is gone, and end.
    _wait_gone(clients)

    (home,) = (project / ".kafkacheck").iterdir()
    following = session()
    following.wait_for("every broker took and gave back a record")
    assert owned(running.pid) == []
    wait_until(lambda: not scratch.exists())
    following.signal(signal.SIGINT)
    following.wait(limit=90)

    assert cli.main(["analyze", str(home)]) == cli.UNKNOWN, "no final reads: unknown, never valid"
    assert "unknown" in capsys.readouterr().out
    verdict = json.loads((home / "verdict.json").read_text())
    assert verdict["result"] == "unknown"
    assert verdict["exercised"]["sends"]["ok"] > 0


def _wait_gone(processes: list[psutil.Process]) -> None:
    def alive() -> list[int]:
        return [each.pid for each in processes if is_alive(each)]

    Retrying(stop=stop_after_delay(60), wait=wait_fixed(0.2), retry=retry_if_result(bool))(alive)
