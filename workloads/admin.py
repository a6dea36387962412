"""Admin: topics are created, deleted and changed while others work, and no acknowledged change is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, get_args

from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Allowed, Declaration, Need, uses
from workloads.load import Rate
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
)

ADMINISTRATOR = WorkerRole("administrator", "workloads.roles.administrator:administrate")
# As in workloads.append_log.
READER = WorkerRole("reader", "workloads.roles.reader:read", poll_limit=20.0)


@dataclass(frozen=True, kw_only=True)
class Admin(BuiltIn):
    """Administrators create, delete, create again and change topics of their own. The first one also adds partitions
    to the topic that producers and readers use, moves its replicas, and deletes its oldest records.

    From time to time they ask every broker for the topics, and each broker has to report all changes that were
    acknowledged (see `workloads.roles.administrator`).

    partitions, replication_factor, topic_config, assignment   of the topic of the producers, as in `AppendLog`
    administrators, producers, readers                  number of client processes of each role
    side_topics     number of topics that an administrator has at a time; their replication factor is the same
    interval        seconds between two changes of an administrator
    inspect_every   changes of an administrator between two inspections
    deleted_share   of the records in a partition, which a deletion removes from its beginning; 0 for no deletions
    rate            records per second and producer; None for no limit; or by phase, see `Rate`
    auto_offset_reset  "earliest" or "latest", as in `AppendLog`
    client          settings of the library's producer
    library         name of the client library of producers and readers
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="admin",
        does="topics are created, deleted, enlarged, configured and moved, and records deleted, while others work",
        page="#admin",
        judged_by=("metadata", "log", "order"),
        uses=uses("producer", "idempotence", "consumer"),
        needs=(
            Need(
                what="Kafka 4.0 or later, which has no ZooKeeper mode",
                release=(4, 0),
                why="a controller of that mode deletes topics in the background",
            ),
        ),
        allows=(
            Allowed(
                anomalies=("expired",),
                why="administrators, and the fault `delete_records`, delete records that nobody has read yet",
            ),
        ),
        deletes_records=lambda workload: workload.deleted_share > 0,
    )

    partitions: int = 2
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    administrators: int = 2
    producers: int = 1
    readers: int = 1
    side_topics: int = 2
    interval: float = 0.1
    inspect_every: int = 8
    deleted_share: float = 0.2
    rate: Rate = 200
    auto_offset_reset: ResetPolicy = "earliest"
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(
            self,
            administrators=(1, 100),
            producers=(1, 100),
            readers=(0, 100),
            side_topics=(1, 100),
            inspect_every=(1, 1000),
        )
        check_seconds("Admin.interval", self.interval, 0, 3600)
        check_share("Admin.deleted_share", self.deleted_share)
        check_choice("Admin.auto_offset_reset", self.auto_offset_reset, *get_args(ResetPolicy))

    def topics(self, run: str) -> tuple[Topic, ...]:
        """Not those of the administrators, who delete them themselves."""
        return (make_topic(self, f"admin-{run}"),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        send = {
            "acks": "all",
            "idempotence": True,
            "record_size": 0,
            "client": dict(self.client),
            "rate": self.rate,
        }
        change = {
            "interval": self.interval,
            "side_topics": self.side_topics,
            "inspect_every": self.inspect_every,
            "replication_factor": self.replication_factor,
            "deleted_share": self.deleted_share,
        }
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *((PRODUCER, send) for _ in range(self.producers)),
            *((READER, {"auto_offset_reset": self.auto_offset_reset}) for _ in range(self.readers)),
            *((ADMINISTRATOR, {**change, "owns_main": number == 0}) for number in range(self.administrators)),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name,), (ADMINISTRATOR.name,))

    @property
    def requires(self) -> frozenset[str]:
        return frozenset(
            {"acks-after-faults", "inspections", *(["polls-to-the-end"] if self.readers else [])}
        )

    def smaller(self) -> Iterator[tuple[str, Self]]:
        yield from self._with_fewer(administrators=1, producers=1, readers=0, side_topics=1)
