"""What a workload is: the topics it needs, the processes it runs, the anomalies it may show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Role = Literal["producer", "reader", "session", "probe", "final"]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic to be created for one run.

    config      settings as Kafka spells them.
    assignment  partition to node ids, the preferred leader first; None: Kafka decides.
    """

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None


@dataclass(frozen=True, kw_only=True)
class WorkerSpec:
    """A client process: its role, its number in the run, its session if any, and what its role asks for."""

    role: Role
    process: int
    session: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Workload(Protocol):
    def topics(self, run: str) -> tuple[Topic, ...]:
        """The topics of a run; their names are unique to it."""

    def workers(self, run: str) -> tuple[WorkerSpec, ...]:
        """The processes of a run, numbered from 0 without gaps."""

    @property
    def allowed(self) -> frozenset[str]:
        """Names of anomalies that its configuration does not promise to prevent."""

    def to_json(self) -> dict[str, Any]:
        """JSON-able values that ``type(self).from_json`` takes back."""
