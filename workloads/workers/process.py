"""One worker process, from its parent's side."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from workloads.applications.confinement import PacketCuts
from workloads.workers.parent_death import PARENT, spawn
from workloads.workload import WorkerSpec

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds our packages."""


class WorkerProcess:
    """Starts on construction. Ends after `stop` or `kill`, or when this process ends, even while it is paused.

    It leads a process group, to which the processes that its role starts belong: signals go to all of them.

    order    what all workers of a run get: run, home, brokers and topics; JSON-able. None: `begin` sends it.
    home     the run's directory, for its log.
    ended    called once, on a thread of its own, when the process is gone.
    cuts     makes what cuts its packets, for its process id, before it opens a socket; None: nothing cuts them.
    no_cuts  why `cuts` is None.
    counts   the last counters that the worker reported.
    trouble  why it ended without being asked to; empty when it did not.
    problem  what the worker reports about its work, although it ends as it should; empty for nothing.
    killed   whether a fault killed it.
    stopped_by_fault   whether a fault asked it to end.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        order: Mapping[str, Any] | None = None,
        *,
        home: Path,
        ended: Callable[[WorkerProcess], None] = lambda _: None,
        cuts: Callable[[int], PacketCuts] | None = None,
    ) -> None:
        self.spec = spec
        self.cuts: PacketCuts | None = None
        self.no_cuts = "no fault of the run asks for it"
        self.counts: dict[str, int] = {}
        self.trouble = self.problem = ""
        self.killed = self.stopped_by_fault = False
        self.log = home / "logs" / f"client-{spec.process}.log"
        self._ended = ended
        self._ready, self._gone = threading.Event(), threading.Event()
        self._done = False
        self._lock = threading.Lock()
        self._standstill = Standstill(self._bring)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self.log.open("ab") as errors:
            self._process = spawn(
                # -P and our root first: a folder of the user named workloads must not be imported instead of ours.
                [sys.executable, "-P", "-m", "workloads.workers.main"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONPATH": path, PARENT: str(os.getpid())},
                # Ctrl-C goes to the harness only, which then lets its workers finish.
                start_new_session=True,
            )
        if cuts is not None:
            try:
                self.cuts = cuts(self.pid)
            except OSError as error:  # also where it has ended already; its watcher says how
                self.no_cuts = str(error)
        self._watcher = threading.Thread(target=self._watch, name=str(self), daemon=True)
        self._watcher.start()
        if order is not None:
            self.begin(order)

    def __str__(self) -> str:
        return f"{self.spec.role.name} {self.spec.process}"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return not self._gone.is_set()

    def begin(self, order: Mapping[str, Any]) -> None:
        """Send its order, with which it becomes ready. Until then it only imports what it needs."""
        self._send(json.dumps({**order, **_assignment(self.spec)}))

    def wait_ready(self, timeout: float) -> bool:
        """Whether it is ready to begin, after at most `timeout` seconds; False for a process that has ended."""
        return self._ready.wait(timeout) and self.is_alive

    def go(self) -> None:
        """Let it begin."""
        self._send("go")

    def phase(self, name: str) -> None:
        """Tell it that a phase of the run begins, see `workloads.load.PHASES`."""
        self._send(name)

    def stop(self) -> None:
        """Ask it to end after the operations that have begun. For them it needs the network."""
        if self.cuts is not None:
            self.cuts.end()
        self._send("stop")

    def stop_by_fault(self) -> None:
        """As `stop`, as part of an experiment: others of its role go on without it."""
        self.stopped_by_fault = True
        self.stop()

    def wait(self, timeout: float) -> bool:
        """Whether it is gone, and `ended` was called, after at most `timeout` seconds."""
        return self._gone.wait(min(timeout, threading.TIMEOUT_MAX))

    def isolate(self) -> None:
        """Let nothing pass between it and any broker until `connect`. It reports the state in `counts`."""
        self._send("isolate")

    def connect(self) -> None:
        self._send("connect")

    def limit(self, what: str, value: float | None) -> None:
        """Limit what its role has started, see `workloads.roles.context.Limits`. It reports the state in `counts`."""
        self._send(f"limit {what}" if value is None else f"limit {what} {value!r}")

    def pause(self) -> None:
        """SIGSTOP."""
        self._standstill.pause()

    def hold(self) -> None:
        """SIGSTOP to the process alone, and not to what its role started."""
        if self._process.returncode is None:
            os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._standstill.resume()

    def freeze(self, limit: float) -> bool:
        """SIGSTOP to what its role has started, and not to the process itself, until `thaw`, and at most `limit`
        seconds. False where nothing that its role has started runs, or where it stands still already."""
        if not self._standstill.freeze(limit):
            return False
        # A signal stops a process when it runs next, which takes some time on a busy machine.
        stopping = Retrying(
            retry=retry_if_result(_do_several_run),
            stop=stop_after_delay(STOP_LIMIT),
            wait=wait_fixed(0.001),
            retry_error_callback=lambda last: last.outcome and last.outcome.result(),
        )
        if any(state in STOPPED for state in stopping(group_states, self.pid)):
            return True
        self.thaw()
        return False

    @property
    def is_frozen(self) -> bool:
        return self._standstill.is_frozen and self.is_alive

    def thaw(self) -> None:
        """SIGCONT, unless it is paused."""
        self._standstill.thaw()

    def _bring(self, state: State) -> None:
        # All at once: to find the numbers of its processes takes longer than the moment to freeze them lasts.
        self._signal(signal.SIGCONT if state == "running" else signal.SIGSTOP)
        if state == "frozen" and self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)

    @property
    def is_paused(self) -> bool:
        """From the kernel's states of the processes in its group."""
        states = group_states(self.pid)
        return bool(states) and set(states) <= STOPPED

    def kill_by_fault(self) -> None:
        """SIGKILL as part of an experiment: it is not recorded as trouble. Returns when the process is gone."""
        self.killed = True
        self._signal(signal.SIGKILL)
        self._gone.wait()

    def kill(self, why: str = "") -> None:
        """SIGKILL. `why` is kept as its trouble."""
        if self.is_alive:
            self.trouble = self.trouble or why
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # Its number belongs to nobody else before the watcher has waited for it, and after that nothing is sent.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        # The pipe of a process that has ended is broken; its watcher records why it ended.
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
                case "problem":
                    self.problem = self.problem or rest
                case "done":
                    self.counts = json.loads(rest)
                    self._done = True
        # What its role started ends with it, before its number may belong to another process.
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._signal(signal.SIGKILL)
        status = self._process.wait()
        assert self._process.stdin is not None
        with self._lock, suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        if self.cuts is not None:
            self.cuts.remove()
        if (not self._done or status) and not self.killed:
            self.trouble = self.trouble or f"{self} ended with status {status}"
        try:
            self._ended(self)
        finally:
            self._gone.set()
            # Last, so that `wait_ready` of a process that has ended returns.
            self._ready.set()


STOPPED = frozenset("Tt")
"""The kernel's states of a process that got SIGSTOP, or that a debugger stopped."""

STOP_LIMIT = 1.0
"""Seconds for processes to stand still after SIGSTOP."""


def _do_several_run(states: Sequence[str]) -> bool:
    """Whether not only the worker itself runs."""
    return sum(state not in STOPPED for state in states) > 1


def group_states(group: int) -> list[str]:
    """The kernel's states of the processes in a group, such as S or T; none where there is no such group or no /proc.
    Zombies, which have ended, are left out."""
    found = []
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_process = each.read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # it has just ended
            continue
        if int(of_process) == group and state != "Z":
            found.append(state)
    return found


def _assignment(spec: WorkerSpec) -> dict[str, Any]:
    return {
        "role": spec.role.name,
        "function": spec.role.reference.to_json(),
        # A role in a file of the user may import what this process can import.
        "path": [entry for entry in sys.path if entry],
        "process": spec.process,
        "session": spec.session,
        "library": spec.library,
        "options": dict(spec.options),
    }


log = logging.getLogger(__name__)

State = Literal["running", "frozen", "paused"]


class Standstill:
    """Lets something stand still for two reasons: a fault pauses it, and a look at it freezes it for a moment. The
    end of one reason does not end the other. Safe for use by several threads.

    apply  brings it into that state, in which it may be already. What it raises is passed on.
    """

    def __init__(self, apply: Callable[[State], None]) -> None:
        self._apply = apply
        self._lock = threading.Lock()
        self._is_paused = False
        self._thawing: threading.Timer | None = None
        """While it is frozen: ends that."""

    @property
    def is_frozen(self) -> bool:
        return self._thawing is not None

    def pause(self) -> None:
        with self._lock:
            self._apply("paused")
            self._is_paused = True

    def resume(self) -> None:
        with self._lock:
            self._is_paused = False
            self._apply("running" if self._thawing is None else "frozen")

    def freeze(self, limit: float) -> bool:
        """For `limit` seconds at most. False where it is paused or frozen already."""
        with self._lock:
            if self._is_paused or self._thawing is not None:
                return False
            self._thawing = threading.Timer(limit, self._thaw_late)
            self._thawing.daemon = True
            try:
                self._apply("frozen")
                self._thawing.start()
            except BaseException:
                self._thawing = None
                raise
            return True

    def thaw(self) -> None:
        with self._lock:
            if self._thawing is None:
                return
            self._thawing.cancel()
            self._thawing = None
            self._apply("paused" if self._is_paused else "running")

    def _thaw_late(self) -> None:
        try:
            self.thaw()
        except OSError as problem:  # the next request to the process fails: it is still frozen
            log.warning("the process was not thawed: %s", problem)
