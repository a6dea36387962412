"""What a role gets in its worker process: its assignment, its clients, its part of the history, when to stop."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from workloads.clients.connection import Address, Ensemble
from workloads.clients.leaders import Leaders
from workloads.clients.library import library
from workloads.clients.network_gate import GATE
from workloads.clients.outcome import Acks
from workloads.clients.protocol import Consumer, Log, Member, Producer, ShareConsumer, TransactionalProducer
from workloads.history.schema import VALUE_BITS
from workloads.history.writer import Writer
from workloads.load import PHASES
from workloads.recording import Commits, Reads, Records


class Network(Protocol):
    """A gate between a client and all brokers. `tried` counts what found it closed since it was closed."""

    @property
    def is_closed(self) -> bool: ...
    @property
    def tried(self) -> int: ...
    def close(self) -> None: ...
    def open(self) -> None: ...


class Limits(Protocol):
    """Of the processes that a role has started. The methods raise OSError."""

    def limit(self, what: str, value: float | None) -> None:
        """what: "cpu", in cores, or "memory", in bytes beyond those in use. None: no limit."""

    def counts(self) -> Mapping[str, int]:
        """What is in force, and what came of it, for `WorkerContext.counts`."""


class WorkerContext:
    """Given to the function of a role. Other threads touch only `stop`, `gone`, `phase` and `topics`.

    topics  with their numbers of partitions, as created. With `follows_partitions`, partitions that are added count
            once clients know them, see `workloads.workers.partitions`.
    phase   of the run, see `workloads.load.PHASES`.
    stop    set when the role is to finish: operations that have begun may complete.
    gone    set as well when the parent process has died: finish at once.
    counts  reported to the parent several times a second; ``sends`` counts sends, ``acks`` acknowledged ones.
    ensemble  where this host reaches ZooKeeper, for a role that watches the cluster.
    confined  what faults do to applications in this run: "packets", "cpu" and "memory", see
              `workloads.applications.control_group`.
    network   what is closed while a fault isolates the process.
    limits    what faults limit; None for a role that starts no application.
    """

    def __init__(self, order: Mapping[str, Any], *, report: Callable[[str], None]) -> None:
        self.role: str = order["role"]
        self.process: int = order["process"]
        self.session: int | None = order["session"]
        self.run: str = order["run"]
        self.home = Path(order["home"])
        self.brokers: dict[int, Address] = {
            int(node): Address.from_json(address) for node, address in order["brokers"].items()
        }
        self.ensemble = Ensemble.from_json(order["ensemble"]) if "ensemble" in order else Ensemble()
        self.topics: dict[str, int] = order["topics"]
        self.follows_partitions: bool = order.get("follows_partitions", False)
        self.options: dict[str, Any] = order["options"]
        self.phase: str = order.get("phase", PHASES[0])
        self.confined: tuple[str, ...] = tuple(order.get("confined", ()))
        self.network: Network = GATE
        self.limits: Limits | None = None
        self.counts: Counter[str] = Counter()
        self.go, self.stop, self.gone = threading.Event(), threading.Event(), threading.Event()
        self._library = library(
            order["library"], log=self.home / "logs" / f"client-{self.process}-command.log"
        )
        self._report = report
        self._writers: dict[str, Writer] = {}
        self._ops = 0
        self._records: Records | None = None

    @property
    def bootstrap(self) -> tuple[Address, ...]:
        """The addresses that clients bootstrap from."""
        return tuple(self.brokers.values())

    @property
    def logs(self) -> tuple[Log, ...]:
        """Every partition of every topic."""
        return tuple((topic, number) for topic, count in self.topics.items() for number in range(count))

    def logs_of(self, topic: str) -> tuple[Log, ...]:
        """Every partition of a topic, whose name is this and that of the run: ``orders`` for ``orders-RUN``."""
        name = f"{topic}-{self.run}"
        return tuple((name, number) for number in range(self.topics[name]))

    def op(self, count: int = 1) -> int:
        """The next operation number, or the first of so many. A send writes it as its value, which is unique in the
        run."""
        self._ops += count
        return self.process << VALUE_BITS | self._ops - count

    def ready(self) -> None:
        """Report that the work can begin, and wait until it may begin, or until `stop` is set."""
        self._report("ready")
        self.go.wait()

    def problem(self, text: str) -> None:
        """Report in one line why the work cannot be done, or not as it should be. The run is then not valid, and its
        verdict cites the first such line of each process."""
        self._report(f"problem {' '.join(text.split())}")

    def progress(self) -> None:
        self._report(f"progress {json.dumps(dict(self.counts))}")

    def done(self) -> None:
        self._report(f"done {json.dumps(dict(self.counts))}")

    def producer(self, *, acks: Acks, idempotence: bool, settings: Mapping[str, Any]) -> Producer:
        """A producer of the worker's client library. Raises OSError when no broker answers in time."""
        return self._library.producer(
            bootstrap=self.bootstrap,
            topics=tuple(self.topics),
            acks=acks,
            idempotence=idempotence,
            settings=settings,
        )

    def transactional(
        self, transactional_id: str, *, timeout: float, settings: Mapping[str, Any]
    ) -> TransactionalProducer:
        """A producer of the worker's client library that has claimed the id. Raises OSError when it could not."""
        return self._library.transactional(
            bootstrap=self.bootstrap,
            topics=tuple(self.topics),
            transactional_id=transactional_id,
            timeout=timeout,
            settings=settings,
        )

    def consumer(
        self,
        start: Mapping[Log, int],
        *,
        assignment: int = 0,
        committed: bool = False,
        rack: str | None = None,
    ) -> Consumer:
        """A consumer of the worker's client library: of these logs, from these offsets.

        committed  read with isolation.level=read_committed.
        rack       client.rack, see `Library.consumer`.
        """
        return self._library.consumer(
            bootstrap=self.bootstrap, start=start, assignment=assignment, committed=committed, rack=rack
        )

    def member(self, *, group: str, topics: tuple[str, ...], settings: Mapping[str, Any]) -> Member:
        """A member of a group by the worker's client library; `settings` as `Library.member` has them."""
        return self._library.member(bootstrap=self.bootstrap, topics=topics, group=group, settings=settings)

    def share(self, *, group: str, topics: tuple[str, ...], settings: Mapping[str, Any]) -> ShareConsumer:
        """A consumer of a share group by the worker's client library; `settings` as `Library.share` has them."""
        return self._library.share(bootstrap=self.bootstrap, topics=topics, group=group, settings=settings)

    def leaders(self) -> Leaders:
        return Leaders(self.brokers, self.topics, stop=self.stop)

    def writer(self, table: str) -> Writer:
        """This process's writer of a table of the history."""
        if table not in self._writers:
            self._writers[table] = Writer(self.home / "history", table, self.process)
        return self._writers[table]

    def records(self) -> Records:
        """Always the same: it numbers the records of the process."""
        if self._records is None:
            self._records = Records(
                self.writer("records"), run=self.run, process=self.process, session=self.session
            )
        return self._records

    def reads(self, f: str) -> Reads:
        return Reads(self.writer("operations"), run=self.run, process=self.process, session=self.session, f=f)

    def commits(self, *, group: str, member: str) -> Commits:
        """For a role that is a member of a group and commits its positions."""
        return Commits(
            records=self.writer("records"),
            operations=self.writer("operations"),
            run=self.run,
            process=self.process,
            group=group,
            member=member,
        )

    def flush(self) -> None:
        for writer in tuple(self._writers.values()):
            writer.flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
