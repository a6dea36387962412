"""The append log: producers write unique values, and every acknowledged one must be read, once and in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args

from workloads.clients.outcome import Acks
from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Allowed, Declaration, uses
from workloads.load import Rate, Sizes
from workloads.values import (
    BuiltIn,
    check_choice,
    check_common_fields,
    check_counts,
    check_skew,
    make_topic,
    read_acks,
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

# A request without an answer is given up after 3 s, an attempt to connect after 10 s, with up to 1 s of back-off in
# between: 13 s were measured. The rest is for a busy machine.
READER = WorkerRole("reader", "workloads.roles.reader:read", poll_limit=20.0)
SESSION = WorkerRole("session", "workloads.roles.session:write_and_read")


@dataclass(frozen=True, kw_only=True)
class AppendLog(BuiltIn):
    """Producers write unique values to topics, readers read them, sessions write and read their own writes.

    topics_written  number of topics; schedules name them ``log``, ``log-1``, ``log-2`` and so on
    partitions, replication_factor, topic_config   of each topic
    assignment      where the replicas of each topic lie, such as {0: [1, 2, 3]}: for every partition the ids of
                    `replication_factor` brokers, the preferred leader first; None: Kafka decides
    acks            "all", 1 or 0, as in the producers' configuration; -1 is "all", and text is taken for numbers
    producers, readers, sessions                   number of client processes of each role
    skew            how uneven producers load the partitions of all topics: 0 in turn; otherwise at random, number n
                    (from 1) with a share of 1 / n ** skew
    rate            records per second and producer; None for no limit; or by phase, see `Rate`
    idempotence     of producers; None: on with acks="all", which it needs
    record_size     bytes of a record's value at least, 0 for the smallest possible (about 50); or a distribution
                    of them, see `Sizes`
    auto_offset_reset  "earliest" or "latest": from where readers and sessions go on when the leader confirms that
                    their position is not in the log any more
    client          settings of the library's producer in its own names, such as {"linger_ms": 5} of kafka-python
                    and {"linger.ms": 5} of confluent-kafka
    library         name of the client library: "kafka-python", "confluent-kafka", which is an extra, "java", or a
                    command such as "command:./client", see docs/clients.md
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="append-log",
        does="producers write unique values to one or more topics, readers read them, sessions write and read their "
        "own writes",
        page="#appendlog",
        judged_by=("log", "sessions", "order", "replication"),
        uses=(
            *uses("producer", "consumer"),
            *uses("idempotence", applies=lambda workload: workload.idempotent),
        ),
        allows=(
            Allowed(
                anomalies=("duplicate", "nonmonotonic-send"),
                when="without idempotence",
                why="retries may write a record twice and out of order, because Kafka promises at least once",
                applies=lambda workload: not workload.idempotent,
            ),
            Allowed(
                anomalies=("read-your-writes",),
                when='`acks` below "all"',
                why="an acknowledged record may not be readable yet",
                applies=lambda workload: workload.acks != "all",
            ),
        ),
    )

    partitions: int = 3
    replication_factor: int = 3
    acks: Acks = "all"
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    producers: int = 2
    readers: int = 2
    sessions: int = 1
    rate: Rate = 1000
    idempotence: bool | None = None
    record_size: Sizes = 0
    skew: float = 0
    auto_offset_reset: ResetPolicy = "earliest"
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None
    topics_written: int = 1

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(self, topics_written=(1, 100), producers=(1, 100), readers=(0, 100), sessions=(0, 100))
        check_skew("AppendLog.skew", self.skew)
        object.__setattr__(self, "acks", read_acks("AppendLog.acks", self.acks))
        if self.idempotence is not None and not isinstance(self.idempotence, bool):
            raise ValueError(f"AppendLog.idempotence={self.idempotence!r}: expected True, False or None")
        if self.idempotence and self.acks != "all":
            raise ValueError(f"AppendLog.idempotence=True needs acks='all', got acks={self.acks!r}")
        check_choice("AppendLog.auto_offset_reset", self.auto_offset_reset, *get_args(ResetPolicy))

    def topics(self, run: str) -> tuple[Topic, ...]:
        others = (f"log-{number}-{run}" for number in range(1, self.topics_written))
        return tuple(make_topic(self, name) for name in (f"log-{run}", *others))

    def workers(self) -> tuple[WorkerSpec, ...]:
        send = {
            "acks": self.acks,
            "idempotence": self.idempotent,
            "record_size": self.record_size,
            "client": dict(self.client),
        }
        read = {"auto_offset_reset": self.auto_offset_reset}
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *(
                (PRODUCER, {"options": {**send, "rate": self.rate, "skew": self.skew}})
                for _ in range(self.producers)
            ),
            *((READER, {"options": read}) for _ in range(self.readers)),
            *((SESSION, {"session": number, "options": send | read}) for number in range(self.sessions)),
            (PROBE, {}),
        ]
        return tuple(
            WorkerSpec(role=role, process=process, library=client_library(self), **shape)
            for process, (role, shape) in enumerate(shapes)
        )

    @property
    def load_counter(self) -> str:
        """With acks=0 nothing is acknowledged, so the first send has to do."""
        return "acks" if self.acknowledges else "sends"

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name, *((SESSION.name,) if self.sessions else ())),)

    @property
    def acknowledges(self) -> bool:
        return self.acks != 0

    def smaller(self) -> Iterator[tuple[str, Self]]:
        least = {"producers": 1, "readers": 0, "sessions": 0}
        fewer: dict[str, Any] = {
            name: number for name, number in least.items() if getattr(self, name) > number
        }
        if len(fewer) > 1:
            yield "one producer and no other clients", replace(self, **fewer)
        yield from self._with_fewer(**least)
        if self.topics_written > 1:
            yield "one topic", replace(self, topics_written=1)

    @property
    def idempotent(self) -> bool:
        return self.acks == "all" if self.idempotence is None else self.idempotence

    @property
    def requires(self) -> frozenset[str]:
        """Not acknowledgements during faults: with acks="all", a partition without enough replicas rightly
        acknowledges nothing."""
        required = {
            "acks-after-faults": self.acknowledges,
            "session-reads": self.sessions > 0,
            "polls-to-the-end": self.readers > 0,
        }
        return frozenset(name for name, is_required in required.items() if is_required)
