"""Connections to the brokers of an application's topics and group, for looks that take a few milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, TypeVar

from nemesis.tasks import in_thread
from pytest_kafkacheck.cluster.kafka.quick_look import StandingConnection
from workloads.clients import coordination, requests
from workloads.clients.connection import Address
from workloads.clients.coordination import ongoing
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, Ask

T = TypeVar("T")

TIMEOUT = 1.0
"""Seconds for an answer. A look at a frozen instance has `nemesis.watch.LONGEST_FREEZE` in all. With 0.3 s, no look
ended within a minute at a load of 27 on two cores."""

PATIENCE = 0.1
"""Seconds for which a broker waits for records before it answers that there are none."""

MOST_BYTES = 1 << 20
"""Of one fetch."""


class Connections:
    """Finds leaders and the coordinator, and asks them. For one thread. The methods raise OSError.

    brokers  where clients reach each broker, at this moment.
    """

    def __init__(
        self, brokers: Callable[[], Mapping[int, Address]], *, topics: Iterable[str], group: str
    ) -> None:
        self._brokers, self._topics, self._group = brokers, tuple(topics), group
        self._open: dict[tuple[str, int], StandingConnection] = {}
        self._waiting: dict[int, Future[Any]] = {}
        """By leader, a fetch that waits for records."""
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="instance-view")
        self._leaders: dict[int, tuple[Log, ...]] = {}
        self._coordinator: int | None = None

    @property
    def logs(self) -> tuple[Log, ...]:
        """All of the topics."""
        return tuple(sorted(log for logs in self._known_leaders().values() for log in logs))

    def starts(self) -> dict[Log, int]:
        """The first offset of each log."""

        def one(ask: Ask, logs: Collection[Log]) -> dict[Log, int]:
            found = requests.offsets(ask, dict.fromkeys(logs, -1), at=EARLIEST)
            self._require(code for code, _ in found.values())
            return {log: offset for log, (_, offset) in found.items()}

        return {log: offset for part in self._ask_leaders(one) for log, offset in part.items()}

    def read(self, start: Mapping[Log, int]) -> dict[Log, Any]:
        """What each of these logs has from these offsets on."""

        def one(ask: Ask, logs: Collection[Log]) -> dict[Log, Any]:
            wanted = {log: start[log] for log in logs if log in start}
            return requests.fetch(ask, wanted, most_bytes=MOST_BYTES) if wanted else {}

        found = {log: each for part in self._ask_leaders(one) for log, each in part.items()}
        self._require(each.error_code for each in found.values())
        return found

    def wait_records(self, start: Mapping[Log, int], limit: float) -> dict[Log, Any]:
        """The first answers with a record from these offsets on, or earlier ones; nothing after `limit` seconds."""
        for node, logs in self._known_leaders().items():
            wanted = {log: start[log] for log in logs if log in start}
            if wanted and node not in self._waiting:
                fetch = partial(requests.fetch, most_bytes=1, wait=PATIENCE)
                ask = self._connection("wait", node, TIMEOUT + PATIENCE).ask
                self._waiting[node] = in_thread(partial(fetch, ask, wanted), "instance-view-wait")
        done, _ = wait(self._waiting.values(), timeout=limit, return_when=FIRST_COMPLETED)
        ended = [self._waiting.pop(node) for node, each in tuple(self._waiting.items()) if each in done]
        try:
            return {log: each for future in ended for log, each in future.result().items() if each.records}
        except OSError:
            self._leaders = {}
            raise

    def ask_coordinator(self, request: Callable[[Ask], T | None]) -> T:
        """None of the request means that the broker is not the coordinator any more."""
        if self._coordinator is None:
            self._coordinator = self._find_coordinator()
        try:
            answer = request(self._connection("group", self._coordinator, TIMEOUT).ask)
        except OSError:
            self._coordinator = None
            raise
        if answer is None:
            self._coordinator = None
            raise ConnectionError(f"the coordinator of group {self._group} is another broker")
        return answer

    def ongoing(self, producers: Collection[int]) -> Mapping[int, str] | None:
        """The transactional ids of those of these producers whose transaction is ongoing, as its coordinator says.
        None where no broker says it: brokers before Kafka 3.0 do not."""

        def one(connection: StandingConnection) -> dict[int, str] | None:
            try:
                return ongoing(connection.ask, producers)
            except OSError:
                return None

        connections = [self._connection("transactions", node, TIMEOUT) for node in self._brokers()]
        found = [each for each in self._pool.map(one, connections) if each is not None]
        return {producer: name for each in found for producer, name in each.items()} if found else None

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask_leaders(self, request: Callable[[Ask, Collection[Log]], T]) -> list[T]:
        """The answers of all leaders, which are asked at the same time."""
        asked = [
            self._pool.submit(request, self._connection("read", node, TIMEOUT).ask, logs)
            for node, logs in self._known_leaders().items()
        ]
        try:
            return [each.result() for each in asked]
        except OSError:
            self._leaders = {}
            raise

    def _known_leaders(self) -> Mapping[int, tuple[Log, ...]]:
        if not self._leaders:
            leaders: dict[int, tuple[Log, ...]] = {}
            for log, at in self._ask_any(lambda ask: requests.metadata(ask, self._topics)).items():
                if at.leader not in self._brokers():
                    raise ConnectionError(f"{log[0]}-{log[1]} has no leader")
                leaders[at.leader] = (*leaders.get(at.leader, ()), log)
            self._leaders = leaders
        return self._leaders

    def _find_coordinator(self) -> int:
        node = self._ask_any(lambda ask: coordination.coordinator(ask, "group", self._group))
        if node is None or node not in self._brokers():
            raise ConnectionError(f"group {self._group} has no coordinator")
        return node

    def _ask_any(self, request: Callable[[Ask], T]) -> T:
        problem: OSError = ConnectionError("the cluster has no broker")
        for node in self._brokers():
            try:
                return request(self._connection("any", node, TIMEOUT).ask)
            except OSError as error:
                problem = error
        raise problem

    def _require(self, codes: Iterable[int]) -> None:
        if refused := [code for code in codes if code]:
            self._leaders = {}
            raise ConnectionError(f"a broker that led a partition refuses, with error {refused[0]}")

    def _connection(self, purpose: str, node: int, timeout: float) -> StandingConnection:
        """One for each purpose: a fetch that waits delays no other question."""
        address = self._brokers().get(node)
        if address is None:
            raise ConnectionError(f"broker {node} is gone")
        kept = self._open.get((purpose, node))
        if kept is None or kept.address != address:
            if kept is not None:
                kept.close()
            kept = self._open[purpose, node] = StandingConnection(address, timeout=timeout)
        return kept
