"""Looks at a cluster that are repeated many times a second, while some brokers may be silent."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, Protocol, TypeVar

from nemesis.views import CoordinatorKind, Elected, NeverComes
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.metadata_views import TIMEOUT
from workloads.clients import coordination
from workloads.clients.connection import Address, Connection, Ensemble
from workloads.clients.coordination import NotClassic
from workloads.clients.requests import Ask, Leadership, Quorum
from workloads.clients.zookeeper_session import ZooKeeperSession, controller


class ControllerSource(Protocol):
    """Knows the controller where the brokers do not."""

    def elected(self) -> Elected: ...

    def close(self) -> None: ...


class QuickLook:
    """Implements ``nemesis.cluster.QuickView``.

    brokers      where clients reach each broker, at this moment.
    controller   None where the brokers know the controller, as in KRaft mode.
    controllers  ids of KRaft controllers that are no brokers.
    """

    def __init__(
        self,
        brokers: Callable[[], Mapping[int, Address]],
        controller: ControllerSource | None = None,
        *,
        controllers: Collection[int] = (),
    ) -> None:
        self._brokers = brokers
        self._controller = controller
        self._controllers = tuple(controllers)
        self._askers: defaultdict[Hashable, Asker] = defaultdict(Asker)
        """One for each question: the answer to one that is late is not taken for that to another."""

    def leader(self, topic: str, partition: int) -> int | None:
        return self.elected_leader(topic, partition).node

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.replicas if view else ()

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        view = self._newest(topic, partition)
        return view.isr if view else ()

    def controller(self) -> int | None:
        return self.elected_controller().node

    def elected_leader(self, topic: str, partition: int) -> Elected:
        view = self._newest(topic, partition)
        if view is None:
            return Elected(None, -1)
        return Elected(view.leader if view.leader >= 0 else None, view.leader_epoch, view.topic_id)

    def elected_controller(self) -> Elected:
        if self._controller is not None:
            return self._controller.elected()
        quorum = self._quorum()
        return Elected(quorum.leader, quorum.epoch) if quorum else Elected(None, -1)

    def coordinator(self, kind: CoordinatorKind, name: str) -> int | None:
        return metadata_views.coordinator(
            self._brokers(), kind, name, ask_each=self._askers["coordinator", kind, name]
        )

    def state(self, kind: CoordinatorKind, name: str) -> str | None:
        """As the broker reports it that most brokers name: another one that was cut off may believe that it is the
        coordinator."""

        def both(ask: Ask) -> tuple[int | None, str | NotClassic | None]:
            try:
                return coordination.coordinator(ask, kind, name), coordination.state(ask, kind, name)
            except NotClassic as problem:
                return coordination.coordinator(ask, kind, name), problem

        answers = self._askers["state", kind, name](self._brokers(), both)
        named = Counter(node for node, _ in answers.values() if node is not None)
        for node, _ in named.most_common(1):
            state = answers[node][1] if node in answers else None
            if isinstance(state, NotClassic):
                raise NeverComes(str(state))
            return state
        return None

    def serving_nodes(self) -> dict[int, bool]:
        answers = self._askers["serving"](self._brokers(), _unfenced)
        views = [unfenced for unfenced in answers.values() if unfenced is not None]
        found = {
            node: unfenced is not None and all(node in view for view in views)
            for node, unfenced in answers.items()
        }
        if self._controllers and (quorum := self._quorum()) is not None:
            found |= {node: quorum.ends.get(node, -1) >= quorum.high_watermark for node in self._controllers}
        return found

    def close(self) -> None:
        for asker in self._askers.values():
            asker.close()
        if self._controller is not None:
            self._controller.close()

    def _quorum(self) -> Quorum | None:
        return metadata_views.quorum(self._brokers(), ask_each=self._askers["quorum"])

    def _newest(self, topic: str, partition: int) -> Leadership | None:
        views = metadata_views.views(self._brokers(), [topic], ask_each=self._askers["topic", topic])
        return metadata_views.newest(views, (topic, partition))


def _unfenced(ask: Ask) -> set[int] | None:
    """None for a broker that does not answer: a failure is an answer, too."""
    try:
        return metadata_views.unfenced_brokers(ask)
    except OSError:
        return None


UNKNOWN = Elected(None, -1)


class ControllerSession:
    """Implements `quick_look.ControllerSource`. For one thread.

    Servers that are silent delay one look by `PATIENCE`: they are not asked again until they answer.
    """

    def __init__(self, ensemble: Callable[[], Ensemble]) -> None:
        self._session = ZooKeeperSession(ensemble, patience=PATIENCE)

    def elected(self) -> Elected:
        """The epoch counts elections. Unknown where no server answers at once."""
        try:
            found = controller(self._session.ask)
        except OSError:
            return UNKNOWN
        return UNKNOWN if found is None or found.node < 0 else Elected(found.node, found.epoch)

    def close(self) -> None:
        self._session.close()


PATIENCE = 0.2
"""Seconds that one look takes at most. The answer of a broker that needs longer counts in a later look."""

Answer = TypeVar("Answer")


class Asker:
    """Implements `metadata_views.AskEach`, over connections that stay open until `close`. For one thread.

    A broker that is silent delays one look only: it is not asked again until it answers or its request has failed.
    """

    def __init__(self) -> None:
        self._asked: dict[int, Future[Any]] = {}
        self._connections: dict[int, StandingConnection] = {}

    def __call__(
        self, addresses: Mapping[int, Address], request: Callable[[Ask], Answer]
    ) -> dict[int, Answer]:
        started = {
            node: _start(partial(request, self._connection(node, address).ask))
            for node, address in addresses.items()
            if node not in self._asked
        }
        self._asked |= started
        wait(started.values(), timeout=PATIENCE)
        ended = {node: future for node, future in self._asked.items() if future.done()}
        self._asked = {node: future for node, future in self._asked.items() if node not in ended}
        return {
            node: future.result()
            for node, future in ended.items()
            if node in addresses and not isinstance(future.exception(), OSError)
        }

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _connection(self, node: int, address: Address) -> StandingConnection:
        kept = self._connections.get(node)
        if kept is not None and kept.address == address:
            return kept
        if kept is not None:
            kept.close()
        self._connections[node] = StandingConnection(address, timeout=TIMEOUT)
        return self._connections[node]


def _start(work: Callable[[], Answer]) -> Future[Answer]:
    """In a thread of its own, which ends with the request's time-out."""
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as problem:
            future.set_exception(problem)

    threading.Thread(target=run, name="quick-look", daemon=True).start()
    return future


class StandingConnection:
    """One thread at a time asks; any thread may close it. It is opened by the first question.

    timeout  seconds to connect, and seconds for each answer.
    """

    def __init__(self, address: Address, *, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._open: Connection | None = None
        self._is_asking = self._is_closed = False
        self._lock = threading.Lock()

    def ask(self, request: Any) -> Any:
        """Raises OSError without an answer."""
        with self._lock:
            if self._is_closed:
                raise ConnectionError(f"the connection to {self.address} was closed by this side")
            self._is_asking = True
        try:
            return self._answer(request)
        finally:
            with self._lock:
                self._is_asking = False
                if self._is_closed:
                    self._drop()

    def close(self) -> None:
        """A question that is under way ends first, and then closes the connection."""
        with self._lock:
            self._is_closed = True
            if not self._is_asking:
                self._drop()

    def _answer(self, request: Any) -> Any:
        if self._open is not None:
            try:
                return self._ask_open(self._open, request)
            except TimeoutError:
                raise
            except OSError:
                pass  # the broker was restarted since, or has closed the connection: it may answer over a new one
        self._open = Connection(self.address, timeout=self._timeout)
        return self._ask_open(self._open, request)

    def _ask_open(self, connection: Connection, request: Any) -> Any:
        try:
            return connection.ask(request)
        except BaseException:
            self._drop()  # a late answer would be taken for that of the next question
            raise

    def _drop(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
