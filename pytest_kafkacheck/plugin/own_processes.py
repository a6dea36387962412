"""Programs that a test starts beside its cluster, such as the application under test. They end with the test."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

END_LIMIT = 5.0
"""Seconds for a program to end after SIGTERM."""


class OwnProcesses:
    """The programs of one test. folder: of their output, one file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program. It is ended with the test, with the processes that it started, also after a SIGKILL of the
        test on Linux.

        command  the program and its arguments.
        options  of subprocess.Popen, such as env and cwd. Unless they say otherwise, what it prints goes to
                 ``<number>-<program>.log``, which is kept with a failed test's evidence.
        Raises OSError when it cannot be started.
        """
        # Here, because pytest loads this module in sessions that use no cluster as well.
        from workloads.workers.parent_death import end_with_parent, spawn

        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{len(self._started) + 1}-{Path(command[0]).name}.log"
        with (self._folder / name).open("wb") as output:
            wanted = {
                "stdin": subprocess.DEVNULL,
                "stdout": output,
                "stderr": subprocess.STDOUT,
                "preexec_fn": partial(end_with_parent, os.getpid()),
                **options,
                "start_new_session": True,
            }
            process = spawn([os.fspath(each) for each in command], **wanted)
        self._started.append(process)
        return process

    def close(self) -> None:
        """End all that still runs: SIGTERM, and SIGKILL for what remains of each group."""
        for process in self._started:
            if process.poll() is None:
                _signal_group(process, signal.SIGTERM)
        for process in self._started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_LIMIT)
            _signal_group(process, signal.SIGKILL)
            process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
