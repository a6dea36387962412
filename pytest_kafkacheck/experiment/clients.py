"""The worker processes of a run as the targets of faults."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.clients.network_gate import GATED_LIBRARIES
from workloads.workers.pool import WorkerPool
from workloads.workers.process import WorkerProcess

NO_LIMIT = -1
"""In the counts of an application, see `workloads.applications.confinement`."""


class WorkerClients:
    """Implements ``nemesis.cluster.Clients``. For a process that is gone each method raises LookupError."""

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers

    def roles(self) -> Mapping[int, str]:
        """Of the clients that are alive, by process number. Probes and final reads are no clients."""
        return {
            process: worker.spec.role.name
            for process, worker in self._workers.workers.items()
            if not worker.spec.role.observes
        }

    def members(self) -> Mapping[int, str]:
        return {
            process: worker.spec.group
            for process, worker in self._workers.workers.items()
            if worker.spec.group is not None
        }

    def instances(self) -> Mapping[int, int]:
        return {
            process: worker.spec.instance
            for process, worker in self._workers.workers.items()
            if worker.spec.instance is not None
        }

    def acknowledged(self) -> int:
        return self._workers.acknowledged()

    def kill(self, process: int) -> None:
        self._alive(process).kill_by_fault()

    def stop(self, process: int) -> None:
        self._alive(process).stop_by_fault()

    def replace(self, process: int) -> int:
        return self._workers.replace(process)

    def pause(self, process: int) -> None:
        self._alive(process).pause()

    def resume(self, process: int) -> None:
        self._alive(process).resume()

    def paused(self, process: int) -> bool:
        return self._alive(process).is_paused

    def isolate(self, process: int) -> None:
        """Raises ValueError for a process whose library does not wait at the network gate: some of its own requests
        would, and be taken for a proof."""
        worker = self._alive(process)
        if worker.spec.instance is None and worker.spec.library not in GATED_LIBRARIES:
            raise ValueError(
                f"client process {process} uses {worker.spec.library}, whose connections cannot be cut from inside "
                f"the process; isolate-client works with {', '.join(sorted(GATED_LIBRARIES))}. Use pause-client, "
                f"or a fault of the brokers' network"
            )
        worker.isolate()

    def connect(self, process: int) -> None:
        self._alive(process).connect()

    def isolated(self, process: int) -> int | None:
        """Operations that the network gate blocked so far; None while the gate is open."""
        counts = self._alive(process).counts
        return counts.get("blocked", 0) if counts.get("isolated") else None

    def limit_cpu(self, process: int, cores: float | None) -> None:
        self._alive(process).limit("cpu", cores)

    def cpu_limit(self, process: int) -> float | None:
        limit = self._alive(process).counts.get("cpu_limit", NO_LIMIT)
        return None if limit == NO_LIMIT else limit / 1000

    def throttled(self, process: int) -> int:
        return self._alive(process).counts.get("throttled", 0)

    def limit_memory(self, process: int, spare: int | None) -> None:
        self._alive(process).limit("memory", spare)

    def memory(self, process: int) -> tuple[int, int | None]:
        counts = self._alive(process).counts
        limit = counts.get("memory_limit", NO_LIMIT)
        return counts.get("memory_used", 0), None if limit == NO_LIMIT else limit

    def memory_reached(self, process: int) -> int:
        return self._alive(process).counts.get("memory_reached", 0)

    def _alive(self, process: int) -> WorkerProcess:
        try:
            return self._workers.workers[process]
        except KeyError:
            raise LookupError(f"client process {process} is gone") from None
