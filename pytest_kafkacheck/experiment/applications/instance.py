"""Instances of a user's application in containers, as worker processes that are the targets of faults.

The network of each is that of a pod (see `pytest_kafkacheck.cluster.docker.plan`), as that of a node is: it keeps its
address when it is started again, and a cut stays in force. Packets are dropped where they arrive, those of brokers at
the pod and those of the application at the brokers: a packet that its sender drops is not one that was lost on its
way.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from docker.errors import APIError

from nemesis.effects.nft import chain, hits, listing, rules, table
from nemesis.tasks import wait_until
from pytest_kafkacheck.cluster.docker import containers
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.experiment.applications.plan import ApplicationPlan
from pytest_kafkacheck.experiment.clients import WorkerClients
from workloads.workers.process import Standstill, State, group_states

T = TypeVar("T")

LIMIT = 10.0
"""Seconds for a command in a network namespace."""

START_LIMIT = 10.0
"""Seconds for a container to be started before a fault hits it."""

LEAST_MEMORY = 6 << 20
"""Bytes: the lowest limit that the engine takes."""


class Shell(Protocol):
    def shell(self, command: str, *, timeout: float) -> tuple[int, str]: ...


class Broker(Shell, Protocol):
    @property
    def addresses(self) -> tuple[str, ...]: ...


class AppContainer:
    """The methods raise OSError where the engine refuses.

    name     of the container.
    pod      id of the container whose network it has.
    brokers  those that a cut separates it from, asked when it begins.
    """

    def __init__(
        self, client: Any, *, instance: int, name: str, pod: str, brokers: Callable[[], Iterable[Broker]]
    ) -> None:
        self.name, self.pod = name, pod
        self._table = f"kafkacheck_app_{instance}"
        self._api = client.api
        self._agent = containers.agent_in(client.api, pod)
        self._brokers = brokers
        self._cut: tuple[Broker, ...] = ()
        self._standstill = Standstill(self._bring)

    def wait_running(self) -> None:
        """It takes a second to start, at the beginning of the load and after it ended by itself."""
        if not wait_until(lambda: bool(self._state["Running"]), limit=START_LIMIT, interval=0.05):
            raise OSError(f"{self.name} was not started within {START_LIMIT:.0f} s")

    def kill(self) -> None:
        """SIGKILL to all its processes. Returns when they are gone."""
        try:
            self._api.kill(self.name, signal="SIGKILL")
        except APIError as error:
            if error.status_code != 409:  # it does not run
                raise OSError(f"the engine could not kill {self.name}: {error.explanation}") from error
        self._api.wait(self.name, timeout=30)

    def pause(self) -> None:
        self.wait_running()
        self._standstill.pause()

    def resume(self) -> None:
        self._standstill.resume()

    def freeze(self, limit: float) -> bool:
        """Pause it until `thaw`, and at most `limit` seconds. False where it does not run, or is paused already."""
        try:
            return self._standstill.freeze(limit)
        except OSError:
            if self._state["Running"]:
                raise
            return False

    @property
    def is_frozen(self) -> bool:
        return self._standstill.is_frozen

    def thaw(self) -> None:
        """Undo `freeze`, unless a fault pauses it."""
        self._standstill.thaw()

    def _bring(self, state: State) -> None:
        stands_still = state != "running"
        try:
            if stands_still:
                containers.pause(self._api, self.name)
            elif self.is_paused:
                self._api.unpause(self.name)
        except APIError as error:
            if self.is_paused != stands_still:  # otherwise it was so already, or was killed meanwhile
                word = "pause" if stands_still else "continue"
                raise OSError(f"the engine could not {word} {self.name}: {error.explanation}") from error

    @property
    def is_paused(self) -> bool:
        return bool(self._state["Paused"])

    def isolate(self) -> None:
        self._cut = tuple(self._brokers())
        brokers = _drops(address for each in self._cut for address in each.addresses)
        application = _drops(self._addresses)

        def cut(place: Shell) -> None:
            drops = brokers if place is self._agent else application
            _apply(place, table(self._table, [chain("input", drops)]))

        self._on_each(cut)

    def connect(self) -> None:
        self._on_each(lambda place: _apply(place, table(self._table, ())))
        self._cut = ()

    def isolated(self) -> int | None:
        """Packets dropped so far; None where it is not cut from all brokers."""
        if not self._cut:
            return None
        counts = self._on_each(lambda place: _dropped(place, self._table))
        return None if None in counts else sum(count or 0 for count in counts)

    def limit_cpu(self, cores: float | None) -> None:
        if cores is not None:
            self.wait_running()
        containers.limit_cpu(self._api, self.name, cores)

    def cpu_limit(self) -> float | None:
        return containers.cpu_limit(self._api, self.name)

    def throttled(self) -> int:
        return containers.throttled(self._api, self.name)

    def limit_memory(self, spare: int | None) -> None:
        size = None
        if spare is not None:
            self.wait_running()
            size = max(self._memory.used + spare, LEAST_MEMORY)
        containers.limit_memory(self._api, self.name, size, name=self.name)

    def memory(self) -> tuple[int, int | None]:
        return self._memory.used, containers.memory_limit(self._api, self.name)

    def memory_reached(self) -> int:
        return self._memory.reached + bool(self._state["OOMKilled"])

    def lift_limits(self) -> None:
        if self.cpu_limit() is not None:
            self.limit_cpu(None)
        if self.memory()[1] is not None:
            self.limit_memory(None)

    def close(self) -> None:
        """End the agent, which heals."""
        self._agent.close()

    def _on_each(self, work: Callable[[Shell], T]) -> list[T]:
        """At the same time in all places where packets are dropped."""
        places: tuple[Shell, ...] = (self._agent, *self._cut)
        with ThreadPoolExecutor(max_workers=len(places)) as pool:
            return list(pool.map(work, places))

    @property
    def _state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._api.inspect_container(self.name)["State"]
        return state

    @property
    def _memory(self) -> containers.Memory:
        """Nothing while it does not run."""
        found = self._api.inspect_container(self.name)
        return containers.memory(int(found["State"]["Pid"]), found["Id"]) or containers.Memory(0, 0)

    @property
    def _addresses(self) -> list[str]:
        networks = self._api.inspect_container(self.pod)["NetworkSettings"]["Networks"].values()
        found = [each[name] for each in networks for name in ("IPAddress", "GlobalIPv6Address")]
        return [address for address in found if address]


def _drops(senders: Iterable[str]) -> list[str]:
    found = sorted(senders)
    lines = []
    for version, sign in (("ip", "."), ("ip6", ":")):
        if of_version := [each for each in found if sign in each]:
            lines.append(f"{version} saddr {{ {', '.join(of_version)} }} counter drop")
    return lines


def _apply(place: Shell, text: str) -> None:
    status, output = place.shell(f"nft {shlex.quote(text)}", timeout=LIMIT)
    if status:
        raise InfrastructureError(f"nft exited with status {status}: {output.strip()}")


def _dropped(place: Shell, name: str) -> int | None:
    """Packets; None where no rules are in force."""
    status, output = place.shell(listing(name), timeout=LIMIT)
    found = [] if status else rules(output)
    return sum(map(hits, found)) if found else None


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
