"""Transactions over several partitions: readers of committed records see all of a transaction, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, get_args

from workloads.clients.protocol import ResetPolicy
from workloads.declaration import Declaration, Need, uses
from workloads.load import Rate, Sizes
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
    Topic,
    WorkerRole,
    WorkerSpec,
)

TRANSACTOR = WorkerRole("transactor", "workloads.roles.transact:transact")
AUDITOR = WorkerRole("auditor", "workloads.roles.snapshots:audit", observes=True)
# As in workloads.append_log; an open transaction holds back all readers of committed records alike.
READER = WorkerRole("reader", "workloads.roles.reader:read", poll_limit=20.0)


@dataclass(frozen=True, kw_only=True)
class Transactions(BuiltIn):
    """Transactors write one transaction after another, with records for random partitions; readers read them.

    Readers work beside them. When they have stopped, an auditor reads all that is committed. Schedules name the
    transactional ids ``transactor-0``, ``transactor-1`` and so on, such as ``fence("transaction:transactor-0")`` or
    ``kill("transaction-coordinator:transactor-0")``; on the brokers, the run is part of the name.

    topics_written  number of topics
    partitions, replication_factor, topic_config   of each topic
    assignment      where the replicas of each topic lie, as in `AppendLog`
    transactors     number of processes with a transactional id of their own
    rivals          number of further processes, each of which shares the id of one of these: they fence one another
    size            records of one transaction at most; each has 1 or more
    rate            records per second and transactor; None for no limit; or by phase, see `Rate`
    aborts          share of the transactions that their client aborts, 0 to 1
    stalls          share that stays open for longer than `timeout` before its client requests the commit: by then
                    the coordinator has aborted it, if it looks for such transactions often enough
    timeout         seconds after which the coordinator aborts an open transaction
    readers         number of processes that read with isolation.level=read_committed
    uncommitted_readers  number of those that read with read_uncommitted
    record_size     bytes of a record's value at least, 0 for the smallest possible (about 50); or a distribution
                    of them, see `Sizes`
    auto_offset_reset  "earliest" or "latest", as in `AppendLog`
    client          settings of the library's producer
    library         name of the client library
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="transactions",
        does="transactions over several partitions that commit, abort, time out and fence one another; readers of "
        "committed and of all records",
        page="#transactions",
        judged_by=("transactions", "log", "order"),
        uses=uses("transactions", "consumer", "read-committed"),
        needs=(
            Need(
                what="a short `transaction.abort.timed.out.transaction.cleanup.interval.ms`",
                when="`stalls` above 0",
                why="coordinators with Kafka's defaults look for transactions that have timed out every 10 s only",
                applies=lambda workload: workload.stalls > 0,
            ),
        ),
    )

    topics_written: int = 1
    partitions: int = 3
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    transactors: int = 2
    rivals: int = 0
    size: int = 6
    rate: Rate = 50
    aborts: float = 0.1
    stalls: float = 0.0
    timeout: float = 10.0
    readers: int = 1
    uncommitted_readers: int = 1
    record_size: Sizes = 0
    auto_offset_reset: ResetPolicy = "earliest"
    client: Mapping[str, Any] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None
    library: str = DEFAULT_LIBRARY
    client_version: str | None = None

    def __post_init__(self) -> None:
        check_common_fields(self, self.client)
        check_counts(
            self,
            topics_written=(1, 100),
            transactors=(1, 100),
            rivals=(0, 100),
            size=(1, 1000),
            readers=(0, 100),
            uncommitted_readers=(0, 100),
        )
        check_share("Transactions.aborts", self.aborts)
        check_share("Transactions.stalls", self.stalls)
        check_seconds("Transactions.timeout", self.timeout, 1, 900)
        check_choice("Transactions.auto_offset_reset", self.auto_offset_reset, *get_args(ResetPolicy))

    def topics(self, run: str) -> tuple[Topic, ...]:
        return tuple(
            make_topic(self, f"transactions-{number}-{run}") for number in range(self.topics_written)
        )

    def workers(self) -> tuple[WorkerSpec, ...]:
        options = {
            "size": self.size,
            "rate": self.rate,
            "aborts": self.aborts,
            "stalls": self.stalls,
            "timeout": self.timeout,
            "record_size": self.record_size,
            "client": dict(self.client),
        }
        ids = [*range(self.transactors), *(number % self.transactors for number in range(self.rivals))]
        read = {"auto_offset_reset": self.auto_offset_reset}
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *((TRANSACTOR, {**options, "id": id, "shared": ids.count(id) > 1}) for id in ids),
            *((READER, {**read, "committed": True}) for _ in range(self.readers)),
            *((READER, {**read, "committed": False}) for _ in range(self.uncommitted_readers)),
            (AUDITOR, {}),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    def aliases(self, run: str) -> Mapping[str, str]:
        return {f"transactor-{number}": f"transactor-{number}-{run}" for number in range(self.transactors)}

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        return ((TRANSACTOR.name,), (AUDITOR.name,))

    @property
    def requires(self) -> frozenset[str]:
        """Not acknowledgements during faults: a partition without enough replicas rightly acknowledges nothing."""
        return frozenset(
            {"acks-after-faults", "transactions", *(["polls-to-the-end"] if self.readers else [])}
        )

    def smaller(self) -> Iterator[tuple[str, Self]]:
        yield from self._with_fewer(rivals=0, transactors=1, uncommitted_readers=0, size=2)
