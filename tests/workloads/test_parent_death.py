"""Children that end with their parent: an interrupt while one is started leaves nothing that a program waits for."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

import psutil
import pytest

from tests.support.real_cluster import wait_until
from workloads.workers.parent_death import spawn

CHILD = [sys.executable, "-c", "import time; time.sleep(120)"]

INTERRUPTED_START = """
import threading
from workloads.workers.parent_death import spawn

start = threading.Thread.start

def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
try:
    spawn(["true"])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
"""A program whose thread for children is started, but the interrupt comes before `start` returns."""


def test_a_program_that_is_interrupted_while_the_first_child_is_started_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_START], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_child_whose_caller_is_interrupted_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen[Any]] = []
    popen = subprocess.Popen

    def started(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
        children.append(popen(*arguments, **options))
        return children[-1]

    result = Future.result
    # Only the caller's wait, and not the callback that ends the child.
    interrupts = iter([KeyboardInterrupt])

    def interrupted(future: Future[Any], timeout: float | None = None) -> Any:
        for interrupt in interrupts:
            raise interrupt
        return result(future, timeout)

    monkeypatch.setattr(subprocess, "Popen", started)  # until the other thread has called it
    with monkeypatch.context() as patch:
        patch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            spawn(CHILD)
    wait_until(lambda: bool(children) and not psutil.pid_exists(children[0].pid))


def test_errors_reach_the_caller_and_do_not_end_the_thread() -> None:
    with pytest.raises(FileNotFoundError):
        spawn(["/nowhere/program"])
    assert spawn(["true"]).wait(timeout=30) == 0


def test_threads_share_it() -> None:
    codes: list[int] = []

    def one() -> None:
        codes.append(spawn(["true"]).wait(timeout=60))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(timeout=120)
    assert codes == [0] * len(threads)
