"""A group whose assignor gives every partition to each of its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.support.faulty_clients.members import assign_everything_to_everyone
from workloads.groups import MEMBER, Groups
from workloads.load import Rate
from workloads.workload import WorkerSpec

FUNCTION = f"{assign_everything_to_everyone.__module__}:{assign_everything_to_everyone.__name__}"


@dataclass(frozen=True, kw_only=True)
class WrongAssignor(Groups):
    partitions: int = 1
    topic_config: Mapping[str, str | int | float | bool] = field(
        default_factory=lambda: {"min.insync.replicas": 2}
    )
    rate: Rate = 20
    members: int = 2

    def workers(self) -> tuple[WorkerSpec, ...]:
        return tuple(
            replace(each, role=replace(each.role, function=FUNCTION)) if each.role is MEMBER else each
            for each in super().workers()
        )
