"""Fakes of the client processes of a workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from nemesis.views import Moment, Sight

USED = 40 << 20
"""Bytes of memory that each process uses."""


class FakeInstanceView:
    """sights: whether the instance is at the moment, look by look, or why nobody answers."""

    def __init__(self, sights: Iterator[bool | OSError]) -> None:
        self.seen = "no output"
        self.is_closed = False
        self._sights = sights
        self._next: bool | OSError | None = None

    def wait(self, limit: float) -> bool:  # noqa: ARG002 - what is to come is there at once
        self._next = next(self._sights, None)
        return self._next is not None

    def look(self) -> Sight:
        now = next(self._sights) if self._next is None else self._next
        self._next = None
        if isinstance(now, OSError):
            raise now
        self.seen = "output 7 of sink-0" if now else "each output is before a position"
        return Sight(comes=now, seen=self.seen, facts={"count": 3} if now else {})

    def close(self) -> None:
        self.is_closed = True


class FakeClients:
    """Two producers, a reader and a session.

    groups   of processes that are members of one, by number.
    numbers  of processes that are instances of an application.
    ignores  names of requests without effect.
    fails    name of a request to the exception that it raises.
    clock    returns seconds, in which an instance that is frozen goes on by itself.
    sights   whether an instance is at its moment, look by look; no wait has an end after them.
    """

    def __init__(self) -> None:
        self.running = {0: "producer", 1: "producer", 2: "reader", 3: "session"}
        self.groups: dict[int, str] = {}
        self.numbers: dict[int, int] = {}
        self.standing: set[int] = set()
        self.alone: dict[int, int] = {}
        self.cuts: dict[tuple[int, str], tuple[tuple[int, ...] | None, tuple[str, ...]]] = {}
        self.cores: dict[int, float | None] = {}
        self.bytes: dict[int, int | None] = {}
        self.clock: Callable[[], float] = lambda: 0
        self.ice: dict[int, float] = {}
        self.sights: Iterator[bool | OSError] = iter(())
        self.views: list[FakeInstanceView] = []
        self.counted = 0
        self.acks: Callable[[], int] = lambda: 0
        self.ignores: set[str] = set()
        self.fails: dict[str, Exception] = {}
        self.log: list[str] = []

    def _acts(self, what: str, process: int) -> bool:
        self.log.append(f"{what} {process}")
        if what in self.fails:
            raise self.fails[what]
        return what not in self.ignores

    def roles(self) -> Mapping[int, str]:
        return dict(self.running)

    def members(self) -> Mapping[int, str]:
        return {process: group for process, group in self.groups.items() if process in self.running}

    def instances(self) -> Mapping[int, int]:
        return {process: number for process, number in self.numbers.items() if process in self.running}

    def acknowledged(self) -> int:
        return self.acks()

    def kill(self, process: int) -> None:
        if self._acts("kill", process):
            self.dead = {**getattr(self, "dead", {}), process: self.running.pop(process)}

    def stop(self, process: int) -> None:
        if self._acts("stop", process):
            self.dead = {**getattr(self, "dead", {}), process: self.running.pop(process)}

    def replace(self, process: int) -> int:
        number = max(self.running) + 10
        if self._acts("replace", process):
            self.running[number] = self.dead[process]
        return number

    def pause(self, process: int) -> None:
        if self._acts("pause", process):
            self.standing.add(process)

    def resume(self, process: int) -> None:
        if self._acts("resume", process):
            self.standing.discard(process)

    def freeze(self, process: int, limit: float) -> bool:
        if process in self.standing or not self._acts("freeze", process):
            return False
        self.ice[process] = self.clock() + limit
        return True

    def frozen(self, process: int) -> bool:
        return process in self.running and self.clock() < self.ice.get(process, 0)

    def thaw(self, process: int) -> None:
        self._acts("thaw", process)
        self.ice.pop(process, None)

    def instance_view(self, instance: int, moment: Moment) -> FakeInstanceView:
        self.log.append(f"view {moment} {instance}")
        self.views.append(FakeInstanceView(self.sights))
        return self.views[-1]

    def paused(self, process: int) -> bool:
        if "paused" in self.fails:
            raise self.fails["paused"]
        return process in self.standing

    def isolate(self, process: int) -> None:
        if self._acts("isolate", process):
            self.alone[process] = 0

    def connect(self, process: int) -> None:
        if self._acts("connect", process):
            self.alone.pop(process, None)

    def isolated(self, process: int) -> int | None:
        if process in self.alone:
            self.alone[process] += 1
        return self.alone.get(process)

    def cut(
        self, process: int, event: str, *, brokers: Collection[int] | None, ways: Collection[str]
    ) -> None:
        if self._acts("cut", process):
            self.cuts[process, event] = (None if brokers is None else tuple(brokers), tuple(ways))

    def dropped(self, process: int, event: str) -> Mapping[str, int] | None:
        if "dropped" in self.fails:
            raise self.fails["dropped"]
        if (process, event) not in self.cuts:
            return None
        self.counted += 1
        return dict.fromkeys(self.cuts[process, event][1], self.counted)

    def restore(self, process: int, event: str) -> None:
        if self._acts("restore", process):
            self.cuts.pop((process, event), None)

    def limit_cpu(self, process: int, cores: float | None) -> None:
        if self._acts("limit-cpu" if cores is not None else "lift-cpu", process):
            self.cores[process] = cores

    def cpu_limit(self, process: int) -> float | None:
        return self.cores.get(process)

    def throttled(self, process: int) -> int:
        self.counted += process in self.cores
        return self.counted

    def limit_memory(self, process: int, spare: int | None) -> None:
        if self._acts("limit-memory" if spare is not None else "lift-memory", process):
            self.bytes[process] = None if spare is None else USED + spare

    def memory(self, process: int) -> tuple[int, int | None]:
        return USED, self.bytes.get(process)

    def memory_reached(self, process: int) -> int:
        self.counted += process in self.bytes
        return self.counted
