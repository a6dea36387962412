"""``kafkacheck analyze`` that is interrupted while Spark starts, or later: no process and no file remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.real_cluster import wait_until

pytestmark = pytest.mark.spark

ONE = 1 << 40


def begun(_: Path, call: int) -> bool:
    """The JVM has been started, but has not reported its port yet."""
    with suppress(psutil.NoSuchProcess):  # a child that ends meanwhile
        return any("java" in each.name() for each in psutil.Process(call).children())
    return False


def connected(scratch: Path, _: int) -> bool:
    """Spark has created its folders."""
    return any(scratch.glob("kafkacheck-spark-*/blockmgr-*"))


def processes_of(scratch: Path) -> list[str]:
    """Command lines that name the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(scratch) in part for part in process.info["cmdline"] or ()):
            found.append(" ".join(process.info["cmdline"])[:200])
    return found


TERM, INT_INT = [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]


@pytest.mark.parametrize(
    ("moment", "signals"),
    [
        pytest.param(begun, TERM, marks=pytest.mark.nightly),
        pytest.param(begun, INT_INT),
        pytest.param(connected, TERM),
        pytest.param(connected, INT_INT, marks=pytest.mark.nightly),
    ],
    ids=["begun-term", "begun-int-int", "connected-term", "connected-int-int"],
)
def test_nothing_remains(
    write: Any, story: Any, tmp_path: Path, moment: Callable[[Path, int], bool], signals: list[signal.Signals]
) -> None:
    run = write(tmp_path / "run", {"run": story().send(ONE, 0).final({0: ONE}, end=1)})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    call = subprocess.Popen(
        [sys.executable, "-m", "pytest_kafkacheck", "analyze", str(run)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: call.poll() is not None or moment(scratch, call.pid))
        for number in signals:
            call.send_signal(number)
            time.sleep(
                0.2
            )  # as fast as a person presses Ctrl-C twice; the first one is being handled by then
        out, err = call.communicate(timeout=60)
    finally:
        call.kill()
    assert (call.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("kafkacheck: interrupted; "), err
    wait_until(lambda: not processes_of(scratch), 20)
    assert list(scratch.iterdir()) == []
