"""The worker processes of a run as the targets of faults."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from functools import partial

from nemesis.views import Moment
from pytest_kafkacheck.experiment.applications.connections import Connections
from pytest_kafkacheck.experiment.applications.instance_view import BrokersInstanceView
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan
from workloads.applications.packet_gate import WAYS, Way
from workloads.clients.connection import Address
from workloads.clients.network_gate import GATED_LIBRARIES
from workloads.workers.pool import WorkerPool
from workloads.workers.process import WorkerProcess

NO_LIMIT = -1
"""In the counts of an application, see `workloads.applications.confinement`."""


class WorkerClients:
    """Implements ``nemesis.cluster.Clients``. For a process that is gone each method raises LookupError.

    brokers  where clients reach each broker now.
    plan     of the user's application; None where the run has none, or nothing of it can be seen.
    """

    def __init__(
        self,
        workers: WorkerPool,
        brokers: Callable[[], Mapping[int, Address]] = dict,
        *,
        plan: ApplicationPlan | None = None,
    ) -> None:
        self._workers, self._brokers, self._plan = workers, brokers, plan
        self._turn = threading.Lock()

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

    def freeze(self, process: int, limit: float) -> bool:
        return self._alive(process).freeze(limit)

    def frozen(self, process: int) -> bool:
        worker = self._workers.workers.get(process)
        return worker is not None and worker.is_frozen

    def thaw(self, process: int) -> None:
        self._alive(process).thaw()

    def instance_view(self, instance: int, moment: Moment) -> BrokersInstanceView:
        """Raises LookupError where nothing of the application can be seen."""
        if self._plan is None:
            raise LookupError("brokers do not show what instances of the application do")
        plan = self._plan
        return BrokersInstanceView(
            plan,
            instance,
            moment,
            ask=Connections(self._brokers, topics=(plan.source, plan.sink), group=plan.group),
            incarnation=partial(self._incarnation, instance),
            turn=self._turn,
        )

    def _incarnation(self, instance: int) -> tuple[int, int] | None:
        """Changes with each start of the instance; None while it does not run."""
        for process, worker in self._workers.workers.items():
            if worker.spec.instance == instance:
                return process, worker.counts.get("starts", 0)
        return None

    def isolate(self, process: int) -> None:
        """Raises ValueError for a process whose library does not wait at the network gate: some of its own requests
        would, and be taken for a proof."""
        worker = self._alive(process)
        if worker.spec.instance is None and worker.spec.library not in GATED_LIBRARIES:
            raise ValueError(
                f"client process {process} uses {worker.spec.library}, whose connections cannot be cut from inside "
                f"the process; isolate-client works with {', '.join(sorted(GATED_LIBRARIES))} only, as the kernel of "
                f"this host cannot cut them: {worker.no_cuts}"
            )
        worker.isolate()

    def connect(self, process: int) -> None:
        self._alive(process).connect()

    def isolated(self, process: int) -> int | None:
        """Operations that the network gate blocked so far; None while the gate is open."""
        counts = self._alive(process).counts
        return counts.get("blocked", 0) if counts.get("isolated") else None

    def cut(
        self, process: int, event: str, *, brokers: Collection[int] | None, ways: Collection[Way]
    ) -> None:
        """In the kernel, or by `isolate` where that does not work on this host."""
        worker = self._alive(process)
        if worker.cuts is not None:
            worker.cuts.cut(event, self._addresses(brokers), ways)
            return
        if brokers is not None or set(ways) != set(WAYS):
            raise ValueError(f"the packets of client process {process} cannot be cut: {worker.no_cuts}")
        self.isolate(process)

    def dropped(self, process: int, event: str) -> Mapping[str, int] | None:
        if (cuts := self._alive(process).cuts) is not None:
            dropped = cuts.dropped(event)
            return None if dropped is None else {str(way): count for way, count in dropped.items()}
        tried = self.isolated(process)
        return None if tried is None else {"tried": tried}

    def restore(self, process: int, event: str) -> None:
        worker = self._alive(process)
        if worker.cuts is not None:
            worker.cuts.restore(event)
        else:
            worker.connect()

    def _addresses(self, brokers: Collection[int] | None) -> list[tuple[str, int]]:
        """Raises LookupError for a broker that clients cannot reach, because it was removed."""
        known = self._brokers()
        if unknown := sorted(set(brokers or ()) - known.keys()):
            raise LookupError(f"where clients reach broker {unknown[0]} is unknown; known: {sorted(known)}")
        return [address[:2] for node, address in known.items() if brokers is None or node in brokers]

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
