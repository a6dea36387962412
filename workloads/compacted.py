"""A compacted topic: the latest value of each key stays, older ones may go, and a deleted key stays deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from workloads.declaration import Declaration, Need, uses
from workloads.load import Rate, Sizes
from workloads.values import (
    BuiltIn,
    check_common_fields,
    check_counts,
    check_seconds,
    check_share,
    check_skew,
    make_topic,
)
from workloads.workload import (
    DEFAULT_LIBRARY,
    PROBE,
    Topic,
    WorkerRole,
    WorkerSpec,
)

WRITER = WorkerRole("writer", "workloads.roles.producer:write_keys")
# As in workloads.append_log.
READER = WorkerRole("reader", "workloads.roles.reader:read", poll_limit=20.0)

DAY = 86_400.0

COMPACT: Mapping[str, str] = {
    "cleanup.policy": "compact",
    # The cleaner does not touch the active segment. The broker makes a new one with the first append after this time.
    "segment.ms": "1000",
    # The least that Kafka 4.0 allows.
    "segment.bytes": str(1 << 20),
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "1000",
}
"""Settings with which the cleaner has work within a run."""


@dataclass(frozen=True, kw_only=True)
class Compacted(BuiltIn):
    """Writers update and delete keys of a compacted topic; readers read it.

    Each key is written by one process, to one partition, so that the order of its records is known. Half of the
    deleted keys are never written again, and new ones take their place; the others come back with a later update.

    partitions, replication_factor   of the topic
    topic_config      further settings of the topic. Those with which the cleaner has work within seconds are set, and
                      may be set otherwise: `segment.ms`, `segment.bytes`, `min.cleanable.dirty.ratio` and
                      `max.compaction.lag.ms`
    delete_retention  seconds for which tombstones stay after the first cleaning (`delete.retention.ms`). Kafka
                      promises a reader all of them if it gets from the beginning to the end within this time
    assignment        where the replicas lie, as in `AppendLog`
    writers           number of processes that write
    keys              of each writer at a time
    skew              how uneven writers update their keys: number n (from 1) gets a share of 1 / n ** skew
    deletes           share of the records that are tombstones, 0 to 1
    rate              records per second and writer; None for no limit; or by phase, see `Rate`
    readers           number of processes that read
    record_size       bytes of a record's value at least, 0 for the smallest possible (about 50); or a distribution
                      of them, see `Sizes`
    client            settings of the library's producer
    library           name of the client library
    client_version    of library="java": the release of kafka-clients, such as "3.7.2"
    """

    # It does not allow risen-key, however short `delete_retention` is: a deleted key that a reader takes for alive is
    # what such an experiment is about.
    declaration = Declaration(
        name="compacted",
        does="keyed updates and tombstones on a compacted topic",
        page="#compacted",
        judged_by=("risen-key", "log", "order"),
        uses=uses("producer", "idempotence", "headers", "consumer"),
        needs=(
            Need(
                what="a short `log.cleaner.backoff.ms`, or a run of a minute",
                why="the cleaner of brokers with Kafka's defaults looks for work every 15 s only",
            ),
        ),
        fixed_partitions="a key stays in its partition",
    )

    partitions: int = 3
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    delete_retention: float = DAY
    writers: int = 2
    keys: int = 50
    skew: float = 0
    deletes: float = 0.2
    rate: Rate = 200
    readers: int = 2
    record_size: Sizes = 0
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(self, writers=(1, 100), keys=(1, 1_000_000), readers=(0, 100))
        check_skew("Compacted.skew", self.skew)
        check_share("Compacted.deletes", self.deletes)
        check_seconds("Compacted.delete_retention", self.delete_retention, 0, 365 * DAY)
        if "delete.retention.ms" in self.topic_config:
            raise ValueError(
                "Compacted.topic_config['delete.retention.ms']: use Compacted.delete_retention, in seconds"
            )
        policy = self.topic_config.get("cleanup.policy", "compact")
        if "compact" not in str(policy).split(","):
            raise ValueError(
                f"Compacted.topic_config['cleanup.policy']={policy!r}: expected 'compact' or 'compact,delete'"
            )

    def topics(self, run: str) -> tuple[Topic, ...]:
        retention = {"delete.retention.ms": str(round(self.delete_retention * 1000))}
        return (make_topic(self, f"compacted-{run}", {**COMPACT, **retention}),)

    def workers(self) -> tuple[WorkerSpec, ...]:
        write = {
            "writers": self.writers,
            "keys": self.keys,
            "skew": self.skew,
            "deletes": self.deletes,
            "rate": self.rate,
            "acks": "all",
            "idempotence": True,
            "record_size": self.record_size,
            "client": dict(self.client),
        }
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *((WRITER, {**write, "writer": number}) for number in range(self.writers)),
            *((READER, {}) for _ in range(self.readers)),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((WRITER.name,),)

    @property
    def requires(self) -> frozenset[str]:
        """Not acknowledgements during faults: a partition without enough replicas rightly acknowledges nothing."""
        return frozenset({"acks-after-faults", "compaction", *(["polls-to-the-end"] if self.readers else [])})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        yield from self._with_fewer(readers=0, writers=1, keys=1)
