"""A worker process's side of its order: what it is to do, when to begin, when to stop, what it tells."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workloads.clients.connection import Address
from workloads.clients.leaders import Leaders
from workloads.clients.protocol import Log
from workloads.history.schema import VALUE_BITS
from workloads.history.writer import Writer
from workloads.recording import Reads, Records


class WorkerContext:
    """What a role gets. Only `stop` and `gone` are touched by other threads.

    stop    set when the role is to finish: what is under way may end.
    gone    set as well when the parent has died: finish at once.
    counts  what progress and the last line tell; ``acks`` counts acknowledged sends.
    """

    def __init__(self, order: Mapping[str, Any], *, say: Callable[[str], None]) -> None:
        self.role: str = order["role"]
        self.process: int = order["process"]
        self.session: int | None = order["session"]
        self.run: str = order["run"]
        self.home = Path(order["home"])
        self.brokers: dict[int, Address] = {
            int(node): Address.from_json(address) for node, address in order["brokers"].items()
        }
        self.topics: dict[str, int] = order["topics"]
        self.options: dict[str, Any] = order["options"]
        self.counts: Counter[str] = Counter()
        self.go, self.stop, self.gone = threading.Event(), threading.Event(), threading.Event()
        self._say = say
        self._writers: dict[str, Writer] = {}
        self._ops = 0

    @property
    def bootstrap(self) -> tuple[Address, ...]:
        """What clients are told of the cluster."""
        return tuple(self.brokers.values())

    @property
    def logs(self) -> tuple[Log, ...]:
        """Every partition of every topic."""
        return tuple((topic, number) for topic, count in self.topics.items() for number in range(count))

    def op(self) -> int:
        """The next operation number; of a send it is the value as well."""
        self._ops += 1
        return self.process << VALUE_BITS | self._ops - 1

    def ready(self) -> None:
        """Say that the work could begin, and wait until it may, or until it is to stop."""
        self._say("ready")
        self.go.wait()

    def progress(self) -> None:
        self._say(f"progress {json.dumps(dict(self.counts))}")

    def done(self) -> None:
        self._say(f"done {json.dumps(dict(self.counts))}")

    def writer(self, table: str) -> Writer:
        if table not in self._writers:
            self._writers[table] = Writer(self.home / "history", table, self.process)
        return self._writers[table]

    def records(self) -> Records:
        return Records(self.writer("records"), run=self.run, process=self.process, session=self.session)

    def reads(self, f: str) -> Reads:
        return Reads(self.writer("operations"), run=self.run, process=self.process, session=self.session, f=f)

    def leaders(self) -> Leaders:
        return Leaders(self.brokers, self.topics, stop=self.stop)

    def flush(self) -> None:
        for writer in tuple(self._writers.values()):
            writer.flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
