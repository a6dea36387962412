"""``kafkacheck analyze`` that is ended while Spark starts, or later: nothing of it stays."""

from __future__ import annotations

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

from tests.support.real_cluster import wait_until

pytestmark = pytest.mark.spark

ONE = 1 << 40


def begun(_: Path, call: int) -> bool:
    """The JVM has been started, and has not told its port."""
    return any("java" in each.name() for each in psutil.Process(call).children())


def connected(scratch: Path, _: int) -> bool:
    """Spark has made folders of its own."""
    return any(scratch.glob("kafkacheck-spark-*/blockmgr-*"))


def of(scratch: Path) -> list[str]:
    """Processes that know of the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(scratch) in part for part in process.info["cmdline"] or ()):
            found.append(" ".join(process.info["cmdline"])[:200])
    return found


@pytest.mark.parametrize("moment", [begun, connected])
@pytest.mark.parametrize(
    "signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]], ids=["term", "int-int"]
)
def test_nothing_stays(
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
        # A shell that puts a job into the background has it ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait_until(lambda: call.poll() is not None or moment(scratch, call.pid))
        for number in signals:
            call.send_signal(number)
            time.sleep(0.2)  # as fast as a person presses it twice: by then the first one is being answered
        out, err = call.communicate(timeout=60)
    finally:
        call.kill()
    assert (call.returncode, out) == (130, ""), err
    assert "Traceback" not in err
    assert err.startswith("kafkacheck: interrupted; ")
    wait_until(lambda: not of(scratch), 20)
    assert list(scratch.iterdir()) == []
