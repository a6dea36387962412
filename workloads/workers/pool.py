"""The worker processes of a run, from the harness's side."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workloads.applications.confinement import PacketCuts
from workloads.clients.connection import Address, Ensemble
from workloads.workers.process import WorkerProcess
from workloads.workload import DEFAULT_LIBRARY, Topic, WorkerRole, WorkerSpec

Ends = Mapping[str, Mapping[int, tuple[int, int]]]
"""{topic: {partition: (first offset, end offset, exclusive)}}"""

READY_LIMIT = 60.0
STOP_LIMIT = 20.0
"""Seconds to become ready, and to end after `stop`."""

FINAL_PROCESSES = 2
NO_ENSEMBLE = Ensemble()
FINAL = WorkerRole("final", "workloads.roles.final_read:read_finally", observes=True)


class WorkerPoolError(RuntimeError):
    """Worker processes did not become ready."""


class WorkerPool:
    """Starts all workers of a workload; leaving the context kills those that still run.

    workers  numbered from 0 without gaps, as `Workload.workers` gives them.
    home     the run's directory, for history and logs.
    record   takes rows of the operations table as mappings: every start, stop and crash of a worker.
    library  client library of the final reads.
    follows_partitions  see `WorkerContext`.
    confined, ensemble  see `WorkerContext`.
    cuts      whether faults cut the packets of single clients, see `WorkerProcess.cuts`.

    Entering raises WorkerPoolError when a worker is not ready in time.
    """

    def __init__(
        self,
        workers: Iterable[WorkerSpec],
        *,
        run: str,
        home: Path,
        brokers: Mapping[int, Address],
        topics: Sequence[Topic],
        record: Callable[[Mapping[str, Any]], None],
        library: str = DEFAULT_LIBRARY,
        follows_partitions: bool = False,
        confined: Iterable[str] = (),
        cuts: bool = False,
        ensemble: Ensemble = NO_ENSEMBLE,
    ) -> None:
        self._specs = tuple(workers)
        self._run, self._cuts = run, cuts
        self._order: dict[str, Any] = {
            "run": run,
            "home": str(home.resolve()),
            "brokers": {node: address.to_json() for node, address in brokers.items()},
            "topics": {topic.name: topic.partitions for topic in topics},
            "follows_partitions": follows_partitions,
            "confined": sorted(confined),
            "ensemble": ensemble.to_json(),
        }
        self._home = home
        self._record = record
        self._library = library
        self._workers: list[WorkerProcess] = []
        self._final: list[WorkerProcess] = []
        """Those of the final reads, before they begin: no workers of the load."""
        self._numbering = threading.Lock()

    def launch(self) -> None:
        """Start the processes, which import what they need and then wait: for a caller who has something else to do
        before entering. Whoever calls it also calls `kill`."""
        self._workers += [self._launched(spec) for spec in self._specs]

    def __enter__(self) -> WorkerPool:
        try:
            if not self._workers:
                self.launch()
            self._begin(self._workers)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def go(self) -> None:
        """Let all workers begin at the same time."""
        for worker in self._workers:
            worker.go()

    def phase(self, name: str) -> None:
        """Tell all workers, and those that replace them, that a phase begins, see `workloads.load.PHASES`."""
        self._order["phase"] = name
        for worker in self._workers:
            worker.phase(name)

    def total(self, counter: str) -> int:
        """The sum of a counter of all workers, some tenths of a second late."""
        return sum(worker.counts.get(counter, 0) for worker in self._workers)

    def reported(self, counter: str) -> int | None:
        """A counter of the one worker that has it, such as a probe; None before its first report."""
        return next((worker.counts[counter] for worker in self._workers if counter in worker.counts), None)

    def acknowledged(self) -> int:
        """Sends acknowledged so far, some tenths of a second late."""
        return self.total("acks")

    @property
    def workers(self) -> dict[int, WorkerProcess]:
        """Those whose process is alive, by their number."""
        return {worker.spec.process: worker for worker in tuple(self._workers) if worker.is_alive}

    def spec(self, process: int) -> WorkerSpec:
        """Of a worker whose process is alive or not."""
        (spec,) = (worker.spec for worker in self._workers if worker.spec.process == process)
        return spec

    def replace(self, process: int) -> int:
        """Start a replacement for a worker that a fault killed. Returns its number once it is ready.

        Raises WorkerPoolError when it is not ready in time.
        """
        (worker,) = self._start([self.spec(process)])
        worker.go()
        return worker.spec.process

    def alive(self) -> bool:
        """Whether any process is left."""
        return any(worker.is_alive for worker in self._workers)

    def crashed(self) -> tuple[str, ...]:
        """A line for each worker that ended without being asked to, or not properly, or that reports a problem."""
        return tuple(text for worker in self._workers if (text := worker.trouble or worker.problem))

    def describe(self) -> str:
        """Such as ``2 producers, 1 reader (producer 1 ended with status 70)``."""
        roles = Counter(worker.spec.role.name for worker in self._workers)
        text = ", ".join(f"{count} {role}{'s' if count > 1 else ''}" for role, count in roles.items())
        return f"{text} ({'; '.join(self.crashed())})" if self.crashed() else text

    def stop(self, *roles: str, limit: float = STOP_LIMIT) -> None:
        """Let the workers of these roles (default: all) finish; kill those that have not after `limit` seconds."""
        wanted = [worker for worker in self._workers if not roles or worker.spec.role.name in roles]
        for worker in wanted:
            worker.stop()
        self._await_end(wanted, limit)

    def launch_final_reads(self) -> None:
        """Start the processes of `final_reads`, which import what they need and then wait, while the load goes on."""
        wanted = min(FINAL_PROCESSES, sum(self._order["topics"].values()))
        self._launch_more([WorkerSpec(role=FINAL, process=0, library=self._library)] * wanted, self._final)

    def final_reads(self, ends: Ends, *, limit: float) -> None:
        """Let all workers finish, and read these ranges with fresh processes meanwhile.

        Each of the fresh ones gets `limit` seconds from the moment it is ready. The results are in
        the history: the content of a log without an ok final read is unknown.
        """
        logs = [
            (topic, number, at)
            for topic, numbers in sorted(ends.items())
            for number, at in sorted(numbers.items())
        ]
        if not self._final:
            self.launch_final_reads()
        count = min(len(self._final), len(logs))
        workers = self._final[:count]
        for number, worker in enumerate(workers):
            share = _by_topic(logs[number::count])
            worker.spec = replace(worker.spec, options={"ends": share, "limit": limit})
        finishing = [*self._workers]
        for worker in finishing:
            worker.stop()
        with self._numbering:
            self._workers += workers
            del self._final[:count]
        self._begin(workers)
        for worker in workers:
            worker.go()
        self._await_end(finishing, STOP_LIMIT)
        self._await_end(workers, limit + STOP_LIMIT)

    def kill(self) -> None:
        """SIGKILL all that still run, and wait for their end."""
        workers = [*self._workers, *self._final]
        for worker in workers:
            worker.kill("was still running at the end")
        for worker in workers:
            worker.wait(math.inf)

    def _start(self, specs: Iterable[WorkerSpec]) -> list[WorkerProcess]:
        """Start more workers, with the next numbers instead of those of the specs."""
        started = self._launch_more(specs, self._workers)
        self._begin(started)
        return started

    def _launch_more(self, specs: Iterable[WorkerSpec], workers: list[WorkerProcess]) -> list[WorkerProcess]:
        """Add processes with the next numbers, which wait, to these workers."""
        # Several faults may heal at the same time, each on its own thread.
        with self._numbering:
            first = len(self._workers) + len(self._final)
            started = [
                self._launched(replace(spec, process=number)) for number, spec in enumerate(specs, first)
            ]
            workers += started
        return started

    def _launched(self, spec: WorkerSpec) -> WorkerProcess:
        # An instance of an application has a control group of its own, see `Confinement`.
        has_cuts = self._cuts and spec.instance is None and not spec.role.observes
        return WorkerProcess(
            spec,
            home=self._home,
            ended=self._record_end,
            cuts=partial(PacketCuts, self._run, spec.process) if has_cuts else None,
        )

    def _begin(self, workers: Sequence[WorkerProcess]) -> None:
        for worker in workers:
            self._record_event(worker, "started")
            worker.begin(self._order)
        deadline = time.monotonic() + READY_LIMIT
        for worker in workers:
            if not worker.wait_ready(max(0.0, deadline - time.monotonic())):
                if worker.problem:
                    raise WorkerPoolError(worker.problem)
                raise WorkerPoolError(
                    f"{worker} was not ready after {READY_LIMIT:.0f} s"
                    f"{' (' + worker.trouble + ')' if worker.trouble else ''}; see {worker.log}"
                )

    def _await_end(self, workers: Sequence[WorkerProcess], limit: float) -> None:
        deadline = time.monotonic() + limit
        for worker in workers:
            if not worker.wait(max(0.0, deadline - time.monotonic())):
                worker.kill(f"did not finish within {limit:g} s")
                worker.wait(math.inf)

    def _record_end(self, worker: WorkerProcess) -> None:
        """Called on the thread that watches the worker."""
        if worker in self._final:
            return  # it has not begun
        event = "crashed" if worker.trouble else "killed" if worker.stopped_by_fault else "stopped"
        self._record_event(worker, "killed" if worker.killed else event)

    def _record_event(self, worker: WorkerProcess, event: str) -> None:
        now = time.monotonic_ns()
        role = worker.spec.role
        value: dict[str, Any] = {"role": role.name, "process": worker.spec.process, "event": event}
        if event == "started" and role.poll_limit is not None:
            value["poll_limit"] = role.poll_limit
        for mark in ("reads_own", "observes"):
            if event == "started" and getattr(role, mark):
                value[mark] = True
        if event == "started" and "acks" in worker.spec.options:
            value["acks"] = str(worker.spec.options["acks"])
        if event == "started" and worker.spec.instance is not None:
            value["instance"] = worker.spec.instance
        if worker.trouble:
            value["trouble"] = worker.trouble
        if worker.problem:
            value["problem"] = worker.problem
        self._record(
            {
                "f": "worker",
                "type": "info",
                "session": worker.spec.session,
                "invoked": now,
                "completed": now,
                "value": value,
            }
        )


def _by_topic(logs: Iterable[tuple[str, int, tuple[int, int]]]) -> dict[str, dict[int, tuple[int, int]]]:
    share: dict[str, dict[int, tuple[int, int]]] = {}
    for topic, number, at in logs:
        share.setdefault(topic, {})[number] = at
    return share
