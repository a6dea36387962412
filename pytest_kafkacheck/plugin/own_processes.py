"""Programs that a test starts beside its cluster, such as the application under test. They end with the test."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

END_LIMIT = 5.0
"""Seconds for a program to end after SIGTERM."""

PR_SET_PDEATHSIG = 1


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
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{len(self._started) + 1}-{Path(command[0]).name}.log"
        with (self._folder / name).open("wb") as output:
            wanted = {
                "stdin": subprocess.DEVNULL,
                "stdout": output,
                "stderr": subprocess.STDOUT,
                "preexec_fn": _end_with_parent if sys.platform == "linux" else None,
                **options,
                "start_new_session": True,
            }
            process = subprocess.Popen([os.fspath(each) for each in command], **wanted)
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


def _end_with_parent() -> None:
    """In the new process: the kernel kills it when the thread that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
