"""The client processes of a run, as the nemesis strikes them."""

from __future__ import annotations

from collections.abc import Mapping

from workloads.workers.pool import WorkerPool
from workloads.workers.process import Worker


class WorkerClients:
    """Implements ``nemesis.cluster.Clients``. Every process that is gone raises LookupError."""

    def __init__(self, crew: WorkerPool) -> None:
        self._crew = crew

    def roles(self) -> Mapping[int, str]:
        return {process: worker.spec.role for process, worker in self._crew.workers.items()}

    def acknowledged(self) -> int:
        return self._crew.acknowledged()

    def kill(self, process: int) -> None:
        self._living(process).strike()

    def replace(self, process: int) -> int:
        return self._crew.replace(process)

    def pause(self, process: int) -> None:
        self._living(process).pause()

    def resume(self, process: int) -> None:
        self._living(process).resume()

    def paused(self, process: int) -> bool:
        return self._living(process).paused

    def isolate(self, process: int) -> None:
        self._living(process).isolate()

    def connect(self, process: int) -> None:
        self._living(process).connect()

    def isolated(self, process: int) -> int | None:
        counts = self._living(process).counts
        return counts.get("in vain", 0) if counts.get("isolated") else None

    def _living(self, process: int) -> Worker:
        try:
            return self._crew.workers[process]
        except KeyError:
            raise LookupError(f"client process {process} is gone") from None
