"""A child process that the kernel kills when its parent dies, also while the child is stopped.

Also a program that runs any command so. It imports nothing of this package, because an application waits for it at
each start.

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
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

PR_SET_PDEATHSIG = 1

PARENT = "KAFKACHECK_PARENT"
"""Environment variable: the process id of the parent, for `end_with_parent`."""

NOT_STARTED = 127
"""Exit status of a command that cannot be started, as shells have it."""

_Child = subprocess.Popen[Any]


class _Spawner:
    """Starts processes on one thread. A fork has no threads but its own, so that it needs another one.

    It is a daemon thread of our own. An executor whose thread was started by an interrupted call forgets that
    thread, and the program never ends.
    """

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._tasks: SimpleQueue[tuple[Future[_Child], Callable[[], _Child]]] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, child: Callable[[], _Child]) -> Future[_Child]:
        future: Future[_Child] = Future()
        self._tasks.put((future, child))
        # Two threads at a time may each start one, which does no harm.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._serve, name="kafkacheck-spawner", daemon=True)
            self._thread.start()
        return future

    def _serve(self) -> None:
        while True:
            future, child = self._tasks.get()
            try:
                future.set_result(child())
            except Exception as error:
                future.set_exception(error)


_SPAWNER = _Spawner()


def spawn(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
    """As `subprocess.Popen`, from a thread that lives as long as this process.

    A child whose caller is interrupted meanwhile is killed, because nobody else knows it.
    """
    started = _SPAWNER.start(lambda: subprocess.Popen(*arguments, **options))
    try:
        return started.result()
    except BaseException:
        started.add_done_callback(_end)
        raise


def _end(started: Future[_Child]) -> None:
    if started.exception() is None:
        child = started.result()
        child.kill()
        child.wait()


def end_with_parent(parent: int) -> None:
    """In the child: die with the process that has that id. Ends at once if it is gone. Only Linux has this."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was asked
        os._exit(1)


def main(arguments: list[str]) -> int:
    """Run a command that the kernel kills with its parent: ``python -I -S parent_death.py PARENT GROUPS COMMAND...``.

    A program that knows nothing of us cannot ask the kernel for that itself. The request survives exec. Before that,
    the process enters the control groups GROUPS: folders, with colons between them, or nothing. Only returns where
    the command cannot be started.
    """
    parent, groups, *command = arguments
    end_with_parent(int(parent))
    try:
        for group in filter(None, groups.split(os.pathsep)):
            (Path(group) / "cgroup.procs").write_text("0")
    except OSError as error:
        sys.stderr.write(f"the control group {group} cannot be entered: {error.strerror}\n")
        return NOT_STARTED
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]!r} cannot be started: {error.strerror}\n")
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
