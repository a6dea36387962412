"""Rewind: readers go back in a log, by offset and by time, and get the same records again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args

from workloads.clients.outcome import Acks
from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Allowed, Declaration, Need, uses
from workloads.load import Rate, Sizes
from workloads.values import (
    BuiltIn,
    check_choice,
    check_common_fields,
    check_counts,
    check_seconds,
    check_share,
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
)

# Without a limit within which it gets records: each step back begins with new connections.
REWINDER = WorkerRole("rewinder", "workloads.roles.rewinder:rewind")


@dataclass(frozen=True, kw_only=True)
class Rewind(BuiltIn):
    """Producers write unique values to one topic; rewinders read on, go back, and read again what they had read.

    A rewinder goes back to an offset, or to the first offset whose record is not older than some record that it had
    read before. Records may go underneath: by retention, if `topic_config` says so, and by the fault
    ``delete_records``. A rewinder whose position was removed goes on as `auto_offset_reset` says.

    partitions, replication_factor, topic_config, assignment   of the topic, as in `AppendLog`
    acks            "all", 1 or 0, as in the producers' configuration; they are idempotent with "all"
    producers, rewinders   number of client processes of each role
    rate            records per second and producer; None for no limit; or by phase, see `Rate`
    record_size     bytes of a record's value at least, 0 for the smallest possible (about 50); or a distribution
                    of them, see `Sizes`
    interval        seconds for which a rewinder reads on before it goes back again
    span            records by which it goes back at most
    by_time         share of the steps back that search by time, 0 to 1
    auto_offset_reset  "earliest" or "latest", as in `AppendLog`
    client          settings of the library's producer
    library         name of the client library
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="rewind",
        does="readers go back in a log, by offset and by time, and read the same records again",
        page="#rewind",
        judged_by=("log", "order", "wrong-offset-for-time"),
        uses=uses("producer", "idempotence", "consumer"),
        needs=(
            Need(
                what="a short `log.retention.check.interval.ms`",
                when="with a `retention.ms` that ends within the run",
                why="brokers with Kafka's defaults look for expired segments every 5 minutes only",
                applies=lambda workload: "retention.ms" in workload.topic_config,
            ),
        ),
        allows=(
            Allowed(anomalies=("expired",), why="records that go underneath are what it is about"),
            Allowed(
                anomalies=("duplicate", "nonmonotonic-send"),
                when='`acks` below "all"',
                why="its producers are not idempotent then, and retries may write a record twice and out of order",
                applies=lambda workload: workload.acks != "all",
            ),
        ),
    )

    partitions: int = 2
    replication_factor: int = 3
    acks: Acks = "all"
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    producers: int = 2
    rewinders: int = 2
    rate: Rate = 200
    record_size: Sizes = 0
    interval: float = 0.5
    span: int = 1000
    by_time: float = 0.5
    auto_offset_reset: ResetPolicy = "earliest"
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(self, producers=(1, 100), rewinders=(1, 100), span=(1, 1_000_000))
        object.__setattr__(self, "acks", read_acks("Rewind.acks", self.acks))
        check_seconds("Rewind.interval", self.interval, 0, 3600)
        check_share("Rewind.by_time", self.by_time)
        check_choice("Rewind.auto_offset_reset", self.auto_offset_reset, *get_args(ResetPolicy))

    def topics(self, run: str) -> tuple[Topic, ...]:
        return (make_topic(self, f"rewind-{run}"),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        send = {
            "acks": self.acks,
            "idempotence": self.acks == "all",
            "record_size": self.record_size,
            "client": dict(self.client),
            "rate": self.rate,
        }
        read = {
            "interval": self.interval,
            "span": self.span,
            "by_time": self.by_time,
            "auto_offset_reset": self.auto_offset_reset,
        }
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *((PRODUCER, send) for _ in range(self.producers)),
            *((REWINDER, read) for _ in range(self.rewinders)),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    @property
    def load_counter(self) -> str:
        return "acks" if self.acknowledges else "sends"

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((PRODUCER.name,),)

    @property
    def acknowledges(self) -> bool:
        return self.acks != 0

    @property
    def requires(self) -> frozenset[str]:
        return frozenset(
            {"rereads", "polls-to-the-end", *(("acks-after-faults",) if self.acknowledges else ())}
        )

    def smaller(self) -> Iterator[tuple[str, Self]]:
        names = ("producers", "rewinders")
        fewer: dict[str, Any] = {name: 1 for name in names if getattr(self, name) > 1}
        if len(fewer) > 1:
            yield "one producer and one rewinder", replace(self, **fewer)
        yield from self._with_fewer(**fewer)
