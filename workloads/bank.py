"""Transfers between accounts over several topics, in transactions: no snapshot has a part of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from workloads.declaration import Declaration, uses
from workloads.load import Rate
from workloads.values import (
    BuiltIn,
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

TRANSACTOR = WorkerRole("transactor", "workloads.roles.transact:transfer")
SNAPSHOT_READER = WorkerRole("snapshot-reader", "workloads.roles.snapshots:take_snapshots")
AUDITOR = WorkerRole("auditor", "workloads.roles.snapshots:audit", observes=True)


@dataclass(frozen=True, kw_only=True)
class Bank(BuiltIn):
    """Transactors transfer amounts between accounts; snapshot readers sum up all accounts meanwhile.

    An account is a partition: its balance is the sum of the amounts of its records. It begins at 0 and may be
    overdrawn, so that the total of all accounts is always 0. A transfer is a debit in one partition and a credit in
    another, of one transaction. When the transactors have stopped, an auditor takes the last snapshot, from the start
    of each log. Schedules name the transactional ids ``transactor-0``, ``transactor-1`` and so on, as those of
    `Transactions`.

    topics_written  number of topics
    partitions, replication_factor, topic_config   of each topic; two accounts at least in all
    assignment      where the replicas of each topic lie, as in `AppendLog`
    transactors     number of processes with a transactional id of their own
    rivals          number of further processes, each of which shares the id of one of these: they fence one another
    transfers       transfers of one transaction at most; each has 1 or more
    rate            records per second and transactor, two for each transfer; None for no limit; or by phase,
                    see `Rate`
    aborts          share of the transactions that their client aborts, 0 to 1
    stalls          share that stays open for longer than `timeout`, as in `Transactions`
    timeout         seconds after which the coordinator aborts an open transaction
    snapshot_readers  number of processes that take snapshots while the transactors work
    interval        seconds between the end of a snapshot and the next one of the same process
    client          settings of the library's producer
    library         name of the client library
    client_version  of library="java": the release of kafka-clients, such as "3.7.2"
    """

    declaration = Declaration(
        name="bank",
        does="transfers between accounts over several topics, in transactions; snapshots of all accounts meanwhile",
        page="#bank",
        judged_by=("wrong-total", "transactions", "log"),
        uses=uses("transactions", "consumer", "read-committed"),
        fixed_partitions="its partitions are the accounts, whose total it knows",
    )

    topics_written: int = 2
    partitions: int = 2
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    transactors: int = 2
    rivals: int = 0
    transfers: int = 3
    rate: Rate = 50
    aborts: float = 0.1
    stalls: float = 0.0
    timeout: float = 10.0
    snapshot_readers: int = 1
    interval: float = 0.5
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
            transfers=(1, 500),
            snapshot_readers=(0, 100),
        )
        if self.topics_written * self.partitions < 2:
            raise ValueError(
                f"Bank.partitions={self.partitions} with topics_written={self.topics_written}: expected two "
                f"accounts at least, which are the partitions of all topics"
            )
        check_share("Bank.aborts", self.aborts)
        check_share("Bank.stalls", self.stalls)
        check_seconds("Bank.timeout", self.timeout, 1, 900)
        check_seconds("Bank.interval", self.interval, 0.1, 3600)

    def topics(self, run: str) -> tuple[Topic, ...]:
        return tuple(make_topic(self, f"accounts-{number}-{run}") for number in range(self.topics_written))

    def workers(self) -> tuple[WorkerSpec, ...]:
        options = {
            "transfers": self.transfers,
            "rate": self.rate,
            "aborts": self.aborts,
            "stalls": self.stalls,
            "timeout": self.timeout,
            "record_size": 0,
            "client": dict(self.client),
        }
        ids = [*range(self.transactors), *(number % self.transactors for number in range(self.rivals))]
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            *((TRANSACTOR, {**options, "id": id, "shared": ids.count(id) > 1}) for id in ids),
            *((SNAPSHOT_READER, {"interval": self.interval}) for _ in range(self.snapshot_readers)),
            (AUDITOR, {}),
            (PROBE, {}),
        ]
        return self._numbered(shapes)

    def aliases(self, run: str) -> Mapping[str, str]:
        return {f"transactor-{number}": f"transactor-{number}-{run}" for number in range(self.transactors)}

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        readers = [(SNAPSHOT_READER.name,)] if self.snapshot_readers else []
        return ((TRANSACTOR.name,), *readers, (AUDITOR.name,))

    @property
    def requires(self) -> frozenset[str]:
        """A transfer counts as acknowledged once its transaction is committed."""
        return frozenset({"acks-after-faults", "transactions", "snapshots"})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        yield from self._with_fewer(rivals=0, transactors=1, transfers=1)
