"""One client process, from its parent's side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workloads.workload import WorkerSpec

ROOT = Path(__file__).resolve().parents[2]
"""Where our packages lie."""


class Worker:
    """Starts on construction; ends when told to, when killed, or when this process ends.

    ended  called once, on a thread of its own, when the process is gone.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        order: Mapping[str, Any],
        *,
        home: Path,
        ended: Callable[[Worker], None] = lambda _: None,
    ) -> None:
        self.spec = spec
        self.counts: dict[str, int] = {}
        self.trouble = ""
        self.struck = False
        self.log = home / "logs" / f"client-{spec.process}.log"
        self._ended = ended
        self._ready, self._gone = threading.Event(), threading.Event()
        self._done = False
        self._lock = threading.Lock()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self.log.open("ab") as errors:
            self._process = subprocess.Popen(
                # -P and our root first: a user's folder called workloads must not be taken for ours.
                [sys.executable, "-P", "-m", "workloads.workers.main"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
                # Ctrl-C is for the harness, which then lets its workers finish.
                start_new_session=True,
            )
        mine = {
            "role": spec.role,
            "process": spec.process,
            "session": spec.session,
            "options": spec.options,
        }
        self._watcher = threading.Thread(target=self._watch, name=str(self), daemon=True)
        self._watcher.start()
        self._tell(json.dumps({**order, **mine}))

    def __str__(self) -> str:
        return f"{self.spec.role} {self.spec.process}"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    def wait_ready(self, timeout: float) -> bool:
        """Whether it is ready to go, after at most `timeout` seconds. A process that ended never will be."""
        return self._ready.wait(timeout) and self.alive

    def go(self) -> None:
        self._tell("go")

    def stop(self) -> None:
        """Ask it to finish what is under way, and to end."""
        self._tell("stop")

    def wait(self, timeout: float) -> bool:
        """Whether it is gone, and `ended` called, after at most `timeout` seconds."""
        return self._gone.wait(min(timeout, threading.TIMEOUT_MAX))

    def isolate(self) -> None:
        """Let nothing pass between it and any broker, until `connect`. It tells of that in `counts`."""
        self._tell("isolate")

    def connect(self) -> None:
        self._tell("connect")

    def pause(self) -> None:
        """SIGSTOP."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    @property
    def paused(self) -> bool:
        """As the kernel tells it."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
        except OSError:
            return False

    def strike(self) -> None:
        """SIGKILL as part of an experiment: its end is no trouble. Returns when it is gone."""
        self.struck = True
        self._process.kill()
        self._gone.wait()

    def kill(self, why: str = "") -> None:
        """SIGKILL. `why` is kept as its trouble."""
        if self.alive:
            self.trouble = self.trouble or why
            self._process.kill()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        # A process that has ended cannot be told anything; its watcher knows why.
        with self._lock, suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def _watch(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, _, rest = line.strip().partition(" ")
            match word:
                case "ready":
                    self._ready.set()
                case "progress":
                    self.counts = json.loads(rest)
                case "done":
                    self.counts = json.loads(rest)
                    self._done = True
        status = self._process.wait()
        assert self._process.stdin is not None
        with self._lock, suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        if (not self._done or status) and not self.struck:
            self.trouble = self.trouble or f"{self} ended with status {status}"
        try:
            self._ended(self)
        finally:
            self._gone.set()
            # Last, so that nobody waits for one that is gone.
            self._ready.set()
