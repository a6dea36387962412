"""Share groups (KIP-932): each record is accepted by one of the consumers, whatever crashes or comes too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args

from workloads.clients.java.releases import JAVA, checked
from workloads.clients.library import is_command
from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Declaration, Need, uses
from workloads.load import Rate
from workloads.roles.share_group import audit_limit
from workloads.values import (
    BuiltIn,
    check_choice,
    check_common_fields,
    check_counts,
    check_seconds,
    check_share,
    make_topic,
)
from workloads.workload import (
    DEFAULT_LIBRARY,
    PROBE,
    PRODUCER,
    Topic,
    WorkerRole,
    WorkerSpec,
    client_library,
)

CONSUMER = WorkerRole("share-consumer", "workloads.roles.share_group:consume")
AUDITOR = WorkerRole("queue-auditor", "workloads.roles.share_group:audit", observes=True)

GROUP = "queue"
"""Name of the group, as schedules have it."""

SHARE_GROUPS_SINCE = (4, 2)
"""Brokers and clients have share groups in production since then."""

SLACK = 10.0
"""Seconds by which the auditor may end later than it means to."""


@dataclass(frozen=True, kw_only=True)
class Queue(BuiltIn):
    """Producers write unique values to one topic, and the consumers of a share group divide the records among them.

    A consumer acquires records, which nobody else gets while it has their lock, and acknowledges each: it accepts
    most, releases some, which are delivered again, and rejects a few. At times it is late: the locks time out. When
    all have stopped, an auditor accepts what is left, and asks the group's coordinator how far the group has got.
    Schedules name the group ``queue``, such as ``kill("coordinator:queue")``; consumers are targets as
    ``member:queue`` (one of them) and ``roles:share-consumer``. `kill_client` lets one crash while it has records.

    partitions, replication_factor, topic_config   of the topic
    assignment      where its replicas lie, as in `Groups`
    producers       number of producers, with acks="all" and idempotence, of the library kafka-python
    rate            records per second and producer; None for no limit; or by phase, see `Rate`
    consumers       number of consumers of the share group
    batch           records at most that a consumer acquires at a time (max.poll.records)
    lock            seconds for which a consumer has what it acquired (share.record.lock.duration.ms). Brokers allow
                    15 and more, unless group.share.min.record.lock.duration.ms is lower
    release         share of the records that are given back, at their first delivery
    reject          share of the records that are refused
    expire          share of the polls after which a consumer keeps all records for longer than the lock
    auto_offset_reset  "earliest" or "latest" (share.auto.offset.reset): where the group starts in a partition. With
                    "latest", Kafka's default, it leaves out what was sent before, also to a partition that is added
    library         name of the client library of consumers and final reads: "java", or a command with share groups
    client_version  of library="java": the release of kafka-clients, 4.2.0 or later
    """

    # A rejected record is archived: nobody accepts it, as the application asked for. Records that are delivered more
    # than once are no anomaly.
    declaration = Declaration(
        name="queue",
        does="consumers of a share group acquire, accept, release and reject records; they crash, and come too late",
        page="#queue",
        judged_by=("queues", "log"),
        uses=uses("share-groups", "consumer"),
        needs=(
            Need(
                what="Kafka 4.2 or later",
                release=SHARE_GROUPS_SINCE,
                why="share groups (KIP-932) are in production since then",
            ),
        ),
    )

    partitions: int = 2
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    producers: int = 1
    rate: Rate = 200
    consumers: int = 3
    batch: int = 50
    lock: float = 15.0
    release: float = 0.05
    reject: float = 0.01
    expire: float = 0.02
    auto_offset_reset: ResetPolicy = "earliest"
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = JAVA
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self)
        check_counts(self, producers=(1, 100), consumers=(1, 100), batch=(1, 10_000))
        for name in ("release", "reject", "expire"):
            check_share(f"Queue.{name}", getattr(self, name))
        if self.release + self.reject > 1:
            raise ValueError(
                f"Queue.release={self.release} and Queue.reject={self.reject}: expected shares of at most 1 in sum"
            )
        check_seconds("Queue.lock", self.lock, 1, 60)
        check_choice("Queue.auto_offset_reset", self.auto_offset_reset, *get_args(ResetPolicy))
        if not is_command(self.library):
            raise ValueError(f"Queue.library={self.library!r}: it has no share groups; use library={JAVA!r}")
        if self.client_version is not None:
            try:
                checked(self.client_version, SHARE_GROUPS_SINCE)
            except ValueError as error:
                raise ValueError(f"Queue.client_version={error}") from None

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (make_topic(self, f"queued-{run}"),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        sending = {"acks": "all", "idempotence": True, "record_size": 0, "client": {}, "rate": self.rate}
        sharing = {
            "group": GROUP,
            "share": {"batch": self.batch, "lock": self.lock, "auto_offset_reset": self.auto_offset_reset},
        }
        consuming = {
            **sharing,
            "release": self.release,
            "reject": self.reject,
            "expire": self.expire,
        }
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *[(PRODUCER, sending)] * self.producers,
            *[(CONSUMER, consuming)] * self.consumers,
            (AUDITOR, sharing),
            (PROBE, {}),
        ]
        clients = {CONSUMER, AUDITOR}
        return tuple(
            WorkerSpec(
                role=role,
                process=process,
                options=options,
                group=GROUP if role == CONSUMER else None,
                library=client_library(self) if role in clients else DEFAULT_LIBRARY,
            )
            for process, (role, options) in enumerate(shapes)
        )

    def aliases(self, run: str) -> Mapping[str, str]:
        return {GROUP: f"{GROUP}-{run}"}

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name,), (CONSUMER.name,), (AUDITOR.name,))

    @property
    def stop_limit(self) -> float:
        return audit_limit(self.lock) + SLACK

    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"acks-after-faults", "deliveries"})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        if self.consumers > 1:
            yield "one consumer", replace(self, consumers=1)
        if self.producers > 1:
            yield "one producer", replace(self, producers=1)
        if self.partitions > 1 and self.assignment is None:
            yield "one partition", replace(self, partitions=1)
