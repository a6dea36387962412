"""A fake of a node: its process, its limits, and on top of `FakeNetworkNamespace` its network."""

from __future__ import annotations

import re
from typing import Any

from nemesis.cluster import State
from tests.support.fake_cluster.clock import FakeClock
from tests.support.fake_cluster.disk import FakeDisk
from tests.support.fake_cluster.network_namespace import FakeNetworkNamespace


class FakeNode(FakeNetworkNamespace):
    """Tests break it by its attributes.

    ignores        names of actions without effect, such as "limit_cpu".
    fails          name of an action to the exception that it raises.
    unkillable     whether SIGKILL has no effect.
    freezer_error  what the cgroup freezer raises.
    start_error    what a start raises.
    is_serving     False for a process that runs but does not serve, because it hangs or is fenced; a start ends that.
    log            names of the actions that were taken.
    """

    def __init__(self, number: int, cluster: Any) -> None:
        super().__init__(number, cluster)
        self.ignores: set[str] = set()
        self.fails: dict[str, Exception] = {}
        self.unkillable = False
        self.freezer_error: OSError | None = None
        self.start_error: Exception | None = None
        self.is_serving = True
        self.log: list[str] = []
        self.cores: float | None = None
        self.bytes_allowed: int | None = None
        self.release = "4.1.1"
        self.disk = FakeDisk(self)
        self.clock = FakeClock(self)
        self.started_at = float("-inf")
        self._held_back = self._cached = 0
        self._exit, self._short_of_memory = 0, False
        self._running, self._frozen, self._stopped_by_signal = True, False, False
        self._starts = 1

    def state(self) -> State:
        if not self._running:
            return "stopped"
        return "paused" if self._frozen or self._stopped_by_signal else "running"

    def incarnation(self) -> str:
        return f"start {self._starts}"

    def exit_code(self) -> int:
        assert not self._running, "asked for the exit code of a process that runs"
        return self._exit

    def killed_for_memory(self) -> bool:
        return self._short_of_memory

    def acts(self, action: str) -> bool:
        """Whether an action has its effect."""
        if action in self.fails:
            raise self.fails[action]
        return action not in self.ignores

    def die(self, code: int, *, of_memory: bool = False) -> None:
        if self._running:
            self._running = self._frozen = self._stopped_by_signal = False
            self._exit, self._short_of_memory = code, of_memory

    def kill(self) -> None:
        self.log.append("kill")
        if self.acts("kill") and not self.unkillable:
            self.die(137)

    def stop(self) -> None:
        self.log.append("stop")
        if self.acts("stop"):
            self.die(143)

    def start(self) -> None:
        self.log.append("start")
        if self.start_error:
            raise self.start_error
        assert not self._running, "started while it runs"
        if not self.acts("start"):
            return
        self.disk.gone, self.is_serving = False, True
        self._running, self._starts, self.started_at = True, self._starts + 1, self._cluster.clock.now

    def freeze(self) -> None:
        self.log.append("freeze")
        if self.freezer_error:
            raise self.freezer_error
        assert self._running, "frozen while it does not run"
        self._frozen = self.acts("freeze")

    def thaw(self) -> None:
        self.log.append("thaw")
        self._frozen = False

    def signal(self, name: str) -> None:
        self.log.append(name)
        assert self._running, "signalled while it does not run"
        self._stopped_by_signal = name == "STOP"

    def limit_cpu(self, cores: float | None) -> None:
        if self.acts("limit_cpu"):
            self.cores = cores

    def cpu_limit(self) -> float | None:
        return self.cores

    def throttled(self) -> int:
        self.execute("cat cpu.stat")
        self._held_back += self.cores is not None
        return self._held_back

    def limit_memory(self, size: int | None) -> None:
        if self.acts("limit_memory"):
            self.bytes_allowed = size

    def memory(self) -> tuple[int, int]:
        self.execute("cat memory.stat")
        allowed = self.bytes_allowed or 1 << 40
        return min((100 << 20) + self._cached, allowed), allowed

    def execute(self, command: str) -> tuple[int, str]:
        if self.state() != "running":
            raise RuntimeError("409: the container does not run, or is paused")
        if self.bytes_allowed and "oom_score_adj" in command:
            self.die(137, of_memory=True)
        if "wrote" in command:
            blocks, size = (
                int((re.search(rf"{name}=(\d+)", command) or [0, 0])[1]) for name in ("count", "bs")
            )
            return 0, f"wrote {blocks * size * 10**9 // (self.disk.rate or 10**9)} ns"
        if command == "ls /opt/kafka/libs":
            return 0, f"kafka-clients-{self.release}.jar\nkafka_2.13-{self.release}.jar\n"
        if "/dev/zero >" in command:
            self._cached = int(command.split()[2])
        return 0, ""
