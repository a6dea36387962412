"""The worker processes of a run whose application is in containers, as the targets of faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nemesis.tasks import wait_until
from pytest_kafkacheck.experiment.applications.instance import AppContainer
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan
from pytest_kafkacheck.experiment.clients import WorkerClients
from workloads.workers.process import group_states

OUTPUT_LIMIT = 5.0
"""Seconds for the last output of a container that was killed."""


class ContainedClients(WorkerClients):
    """A worker process starts its container, again and again; faults hit the container.

    containers  by the number of the instance.
    """

    def __init__(
        self, *arguments: Any, containers: Mapping[int, AppContainer], plan: ApplicationPlan | None = None
    ) -> None:
        super().__init__(*arguments, plan=plan)
        self._containers = containers

    def kill(self, process: int) -> None:
        if (container := self._container(process)) is not None:
            worker = self._alive(process)
            container.wait_running()
            worker.hold()  # so that it does not start the container again
            try:
                container.kill()
            except BaseException:
                worker.resume()
                raise
            # The program that passes the container's output on ends with it.
            wait_until(lambda: len(group_states(worker.pid)) <= 1, limit=OUTPUT_LIMIT, interval=0.02)
        super().kill(process)

    def replace(self, process: int) -> int:
        instance = self._workers.spec(process).instance
        if instance is not None:
            self._containers[instance].lift_limits()
        return super().replace(process)

    def pause(self, process: int) -> None:
        if (container := self._container(process)) is None:
            super().pause(process)
        else:
            container.pause()

    def resume(self, process: int) -> None:
        if (container := self._container(process)) is None:
            super().resume(process)
        else:
            container.resume()

    def paused(self, process: int) -> bool:
        container = self._container(process)
        return super().paused(process) if container is None else container.is_paused

    def freeze(self, process: int, limit: float) -> bool:
        return self._contained(process).freeze(limit)

    def frozen(self, process: int) -> bool:
        return process in self._workers.workers and self._contained(process).is_frozen

    def thaw(self, process: int) -> None:
        self._contained(process).thaw()

    def isolate(self, process: int) -> None:
        if (container := self._container(process)) is None:
            super().isolate(process)
        else:
            container.isolate()

    def connect(self, process: int) -> None:
        if (container := self._container(process)) is None:
            super().connect(process)
        else:
            container.connect()

    def isolated(self, process: int) -> int | None:
        container = self._container(process)
        return super().isolated(process) if container is None else container.isolated()

    def limit_cpu(self, process: int, cores: float | None) -> None:
        self._contained(process).limit_cpu(cores)

    def cpu_limit(self, process: int) -> float | None:
        return self._contained(process).cpu_limit()

    def throttled(self, process: int) -> int:
        return self._contained(process).throttled()

    def limit_memory(self, process: int, spare: int | None) -> None:
        self._contained(process).limit_memory(spare)

    def memory(self, process: int) -> tuple[int, int | None]:
        return self._contained(process).memory()

    def memory_reached(self, process: int) -> int:
        return self._contained(process).memory_reached()

    def _container(self, process: int) -> AppContainer | None:
        instance = self._alive(process).spec.instance
        return None if instance is None else self._containers[instance]

    def _contained(self, process: int) -> AppContainer:
        """What has no other targets: faults of processor time and memory, and looks at an instance."""
        container = self._container(process)
        if container is None:
            raise LookupError(f"client process {process} is no instance of an application")
        return container
