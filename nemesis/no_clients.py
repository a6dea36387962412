"""The client processes of a run without a workload: there are none."""

from __future__ import annotations

from collections.abc import Mapping

from nemesis.views import InstanceView, Moment


class NoClients:
    """Implements `nemesis.cluster.Clients`."""

    def roles(self) -> Mapping[int, str]:
        return {}

    def members(self) -> Mapping[int, str]:
        return {}

    def instances(self) -> Mapping[int, int]:
        return {}

    def acknowledged(self) -> int:
        return 0

    def kill(self, process: int) -> None:
        raise LookupError(f"there is no client process {process}")

    def replace(self, process: int) -> int:
        raise LookupError(f"there is no client process {process}")

    stop = pause = resume = isolate = connect = thaw = kill

    def freeze(self, process: int, limit: float) -> bool:  # noqa: ARG002 - for none
        raise LookupError(f"there is no client process {process}")

    def frozen(self, process: int) -> bool:  # noqa: ARG002 - for none
        return False

    def instance_view(self, instance: int, moment: Moment) -> InstanceView:  # noqa: ARG002 - for none
        raise LookupError(f"there is no instance {instance} of an application")

    def paused(self, process: int) -> bool:
        raise LookupError(f"there is no client process {process}")

    def isolated(self, process: int) -> int | None:
        raise LookupError(f"there is no client process {process}")

    def cut(self, process: int, event: str, **_: object) -> None:  # noqa: ARG002 - for none
        raise LookupError(f"there is no client process {process}")

    def restore(self, process: int, event: str) -> None:  # noqa: ARG002 - for none
        raise LookupError(f"there is no client process {process}")

    def dropped(self, process: int, event: str) -> Mapping[str, int] | None:  # noqa: ARG002 - for none
        raise LookupError(f"there is no client process {process}")

    def limit_cpu(self, process: int, cores: float | None) -> None:  # noqa: ARG002 - for none
        raise LookupError(f"there is no client process {process}")

    def limit_memory(self, process: int, spare: int | None) -> None:  # noqa: ARG002 - for none
        raise LookupError(f"there is no client process {process}")

    def memory(self, process: int) -> tuple[int, int | None]:
        raise LookupError(f"there is no client process {process}")

    def cpu_limit(self, process: int) -> float | None:
        raise LookupError(f"there is no client process {process}")

    throttled = memory_reached = replace
