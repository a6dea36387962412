"""A child process that the kernel kills when its parent dies, also while the child is stopped.

A child that runs can notice the end of its input. One that a fault has stopped (SIGSTOP) notices nothing, and would
stay for ever. On Linux the kernel sends it SIGKILL, which works on stopped processes.

The kernel counts the thread that started the child as its parent, not the process. Faults replace clients from
threads that soon end. So one thread starts all such children, and lives as long as the process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PR_SET_PDEATHSIG = 1

PARENT = "KAFKACHECK_PARENT"
"""Environment variable: the process id of the parent, for `end_with_parent`."""


class _Spawner:
    """Starts processes on one thread. A fork has no threads but its own, so that it needs another one."""

    def __init__(self) -> None:
        self.renew()
        os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kafkacheck-spawner")


_SPAWNER = _Spawner()


def spawn(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`, from a thread that lives as long as this process."""
    return _SPAWNER.thread.submit(lambda: subprocess.Popen(*arguments, **options)).result()


def end_with_parent(parent: int) -> None:
    """In the child: die with the process that has that id. Ends at once if it is gone. Only Linux has this."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was asked
        os._exit(1)
