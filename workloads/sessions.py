"""Sessions: users who write a record and read it at once, while they move between clients and brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

from workloads.clients.library import library
from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Allowed, Declaration, Need, uses
from workloads.load import Sizes
from workloads.values import BuiltIn, check_choice, check_common_fields, check_counts, make_topic
from workloads.workload import (
    DEFAULT_LIBRARY,
    PROBE,
    Topic,
    WorkerRole,
    WorkerSpec,
    client_library,
)

ReadFrom = Literal["leader", "follower"]

SESSION = WorkerRole("session", "workloads.roles.session:write_read_and_move", reads_own=True)


@dataclass(frozen=True, kw_only=True)
class Sessions(BuiltIn):
    """Each session writes a unique value to a partition and reads until it has it. After some writes it goes on with
    the next partition, by a new producer and a new consumer, which the library connects to any broker.

    The verdict states how long after its acknowledgement a session first read a write.

    partitions, replication_factor, topic_config   of the topic
    assignment      where its replicas lie, such as {0: [1, 2, 3]}: for every partition the ids of
                    `replication_factor` brokers, the preferred leader first; None: Kafka decides
    sessions        number of sessions, each in a process
    writes_per_client   writes after which a session goes on with new clients
    read_from       "leader", or "follower": each consumer has the rack of an in-sync follower and not that of the
                    leader. The brokers need racks and a rack-aware replica selector, and the library has to be
                    kafka-python
    acks            "all" or 1, as in the producers' configuration
    idempotence     of producers; None: on with acks="all", which it needs
    record_size     bytes of a record's value at least, 0 for the smallest possible (about 50); or a distribution
                    of them, see `Sizes`
    auto_offset_reset  "earliest" or "latest": from where a session goes on when the leader confirms that its position
                    is not in the log any more
    client          settings of the library's producer in its own names, such as {"linger_ms": 5} of kafka-python
                    and {"linger.ms": 5} of confluent-kafka
    library         name of the client library: "kafka-python", "confluent-kafka", which is an extra, "java", or a
                    command such as "command:./client", see docs/clients.md
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="sessions",
        does="each session writes, reads its own writes, and moves between clients and brokers; from leaders or "
        "followers",
        page="#sessions",
        judged_by=("sessions", "log", "order"),
        uses=(
            *uses("producer", "idempotence", "consumer"),
            *uses("rack", "reported-ends", applies=lambda workload: workload.read_from == "follower"),
        ),
        needs=(
            Need(
                what="racks, and a rack-aware `replica.selector.class`",
                when='`read_from="follower"`',
                why="otherwise clients read from leaders only",
                applies=lambda workload: workload.reads_from_followers,
            ),
        ),
        allows=(
            Allowed(
                anomalies=("read-your-writes",),
                when="`acks=1`",
                why="an acknowledged record may not be readable yet",
                applies=lambda workload: workload.acks != "all",
            ),
            Allowed(
                anomalies=("read-your-writes", "monotonic-reads"),
                when='`read_from="follower"`',
                why="a follower learns late up to where it may serve reads, and another one may lag behind it",
                applies=lambda workload: workload.reads_from_followers,
            ),
            Allowed(
                anomalies=("duplicate", "nonmonotonic-send"),
                when="without idempotence",
                why="retries may write a record twice and out of order",
                applies=lambda workload: not workload.idempotent,
            ),
        ),
    )

    partitions: int = 3
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    sessions: int = 3
    writes_per_client: int = 20
    read_from: ReadFrom = "leader"
    acks: Literal["all", 1] = "all"
    idempotence: bool | None = None
    record_size: Sizes = 0
    auto_offset_reset: ResetPolicy = "earliest"
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(self, sessions=(1, 100), writes_per_client=(1, 1_000_000))
        check_choice("Sessions.read_from", self.read_from, *get_args(ReadFrom))
        # Compared with their types, because True equals 1.
        if (type(self.acks), self.acks) not in ((str, "all"), (int, 1)):
            raise ValueError(
                f"Sessions.acks={self.acks!r}: expected 'all' or 1; a session has no right to read what was not "
                f"acknowledged"
            )
        if self.idempotence is not None and not isinstance(self.idempotence, bool):
            raise ValueError(f"Sessions.idempotence={self.idempotence!r}: expected True, False or None")
        if self.idempotence and self.acks != "all":
            raise ValueError(f"Sessions.idempotence=True needs acks='all', got acks={self.acks!r}")
        check_choice("Sessions.auto_offset_reset", self.auto_offset_reset, *get_args(ResetPolicy))
        if self.reads_from_followers:
            self._check_followers()

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (make_topic(self, f"sessions-{run}"),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        options = {
            "acks": self.acks,
            "idempotence": self.idempotent,
            "record_size": self.record_size,
            "client": dict(self.client),
            "auto_offset_reset": self.auto_offset_reset,
            "read_from": self.read_from,
            "writes_per_client": self.writes_per_client,
        }
        return (
            *(
                WorkerSpec(
                    role=SESSION,
                    process=number,
                    session=number,
                    library=client_library(self),
                    options={**options, "first": number},
                )
                for number in range(self.sessions)
            ),
            WorkerSpec(role=PROBE, process=self.sessions, library=client_library(self)),
        )

    @property
    def idempotent(self) -> bool:
        return self.acks == "all" if self.idempotence is None else self.idempotence

    @property
    def reads_from_followers(self) -> bool:
        return self.read_from == "follower"

    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"acks-after-faults", "session-reads"})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        if self.sessions > 1:
            yield "one session", replace(self, sessions=1)

    def _check_followers(self) -> None:
        where = f"Sessions.read_from={self.read_from!r}"
        if self.replication_factor < 2:
            raise ValueError(f"{where}: with replication_factor=1 there are no followers")
        try:
            library(self.library).check_reported_ends()
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
