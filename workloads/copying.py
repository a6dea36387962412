"""Consume, transform, produce: each record of one topic has exactly one copy in another, whatever crashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Literal, Self, get_args

from workloads.clients.library import library
from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Declaration, assignor_uses, uses
from workloads.groups import HEARTBEATS, SLOWEST_POLL, Assignor
from workloads.load import Rate
from workloads.values import (
    BuiltIn,
    check_choice,
    check_common_fields,
    check_counts,
    check_seconds,
    make_topic,
)
from workloads.workload import (
    DEFAULT_LIBRARY,
    PROBE,
    PRODUCER,
    Topic,
    WorkerRole,
    WorkerSpec,
)

Guarantee = Literal["exactly-once", "at-least-once", "at-most-once"]

COPIER = WorkerRole("copier", "workloads.roles.copier:copy")
AUDITOR = WorkerRole("auditor", "workloads.roles.snapshots:audit", observes=True)

MOST = 500
"""Records of one poll, with every library."""

SOURCE, OUTPUT, GROUP = "source", "output", "copiers"
"""Names of the topics and of the group, as schedules have them."""


@dataclass(frozen=True, kw_only=True)
class Copy(BuiltIn):
    """A producer writes unique values to the topic ``source``; the members of a group copy each to the topic
    ``output``.

    A copier polls records, begins a transaction, sends a copy of each, adds the positions that it has reached, and
    commits (KIP-447). When anything fails, it goes on from the committed positions. When all have stopped, an auditor
    reads what is committed. Schedules name the group ``copiers`` and the transactional ids ``copier-0``, ``copier-1``
    and so on, such as ``kill("coordinator:copiers")`` or ``fence("transaction:copier-0")``. Copiers are targets as
    ``member:copiers`` and ``roles:copier``. A copier that `kill_client` kills is replaced by one that claims the same
    transactional id.

    partitions, replication_factor, topic_config   of each topic
    assignment      where the replicas of each topic lie, as in `Groups`
    rate            records per second of the producer; None for no limit; or by phase, see `Rate`
    copiers         number of copiers, which are the members of the group
    guarantee       "exactly-once": copies and positions are in one transaction. "at-least-once": positions are
                    committed once the copies are acknowledged; a crash in between repeats copies. "at-most-once":
                    positions are committed before the copies are sent; a crash in between loses copies. The verdict
                    reports these as duplicate-copy and lost-copy
    batch           records at most that are copied together
    work            seconds that a copier takes for a batch: between its copies and its positions, in whichever order
                    it sends them
    timeout         seconds after which the coordinator aborts an open transaction
    assignor        of the group: "range", "roundrobin", "sticky" or "cooperative-sticky"
    session_timeout   seconds without a heartbeat after which the group replaces a copier
    auto_offset_reset  "earliest" or "latest", as in `Groups`
    client          settings of the library's producer
    library         name of the client library
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="copy",
        does="members of a group copy records from topic to topic, exactly once; they crash, stall and are replaced",
        page="#copy",
        judged_by=("lost-copy", "duplicate-copy", "groups", "transactions", "log"),
        uses=(
            *uses("producer", "idempotence", "consumer", "read-committed", "group-classic"),
            *assignor_uses(),
            *uses("transactions", applies=lambda workload: workload.guarantee == "exactly-once"),
        ),
    )

    partitions: int = 4
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    rate: Rate = 200
    copiers: int = 2
    guarantee: Guarantee = "exactly-once"
    batch: int = 100
    work: float = 0.1
    timeout: float = 10.0
    assignor: Assignor = "range"
    session_timeout: float = 6.0
    auto_offset_reset: ResetPolicy = "earliest"
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(self, copiers=(1, 100), batch=(1, 1000))
        for name, choices in (
            ("guarantee", Guarantee),
            ("assignor", Assignor),
            ("auto_offset_reset", ResetPolicy),
        ):
            check_choice(f"Copy.{name}", getattr(self, name), *get_args(choices))
        check_seconds("Copy.work", self.work, 0, 2)
        check_seconds("Copy.timeout", self.timeout, 1, 900)
        check_seconds("Copy.session_timeout", self.session_timeout, 1, 1800)
        # Only where it is needed, because it loads the library; see `workloads.workload`.
        if self.library != DEFAULT_LIBRARY:
            try:
                library(self.library).check_member(self._member_settings)
            except ValueError as error:
                raise ValueError(f"Copy with library={self.library!r}: {error}") from None

    def topics(self, run: str) -> tuple[Topic, ...]:
        return tuple(make_topic(self, f"{name}-{run}") for name in (SOURCE, OUTPUT))

    def workers(self) -> tuple[WorkerSpec, ...]:
        sending = {"acks": "all", "idempotence": True, "record_size": 0, "client": dict(self.client)}
        copying = {
            **sending,
            "source": SOURCE,
            "output": OUTPUT,
            "group": GROUP,
            "guarantee": self.guarantee,
            "batch": self.batch,
            "work": self.work,
            "timeout": self.timeout,
            "member": self._member_settings,
        }
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            (PRODUCER, {**sending, "rate": self.rate, "topic": SOURCE}),
            *((COPIER, {**copying, "id": number}) for number in range(self.copiers)),
            (AUDITOR, {}),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    def aliases(self, run: str) -> Mapping[str, str]:
        names = [GROUP]
        if self.guarantee == "exactly-once":
            names += (f"copier-{number}" for number in range(self.copiers))
        return {name: f"{name}-{run}" for name in names}

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name,), (COPIER.name,), (AUDITOR.name,))

    @property
    def has_groups(self) -> bool:
        return True

    @property
    def requires(self) -> frozenset[str]:
        """A copy within a transaction counts as acknowledged once that is committed."""
        return frozenset({"acks-after-faults", "group-commits", "copies"})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        if self.copiers > 1:
            yield "one copier", replace(self, copiers=1)
        if self.partitions > 1 and self.assignment is None:
            yield "one partition", replace(self, partitions=1)

    @property
    def _member_settings(self) -> dict[str, Any]:
        """As `Library.member` has them."""
        return {
            "session_timeout": self.session_timeout,
            "heartbeat_interval": self.session_timeout / HEARTBEATS,
            "max_poll_interval": max(self.session_timeout, SLOWEST_POLL)
            + ceil(MOST / self.batch) * self.work,
            "assignor": self.assignor,
            "protocol": "classic",
            "instance": None,
            "auto_offset_reset": self.auto_offset_reset,
            "committed": True,
        }
