"""Looks at a cluster that are repeated many times a second, while some brokers may be silent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Protocol

from nemesis.views import CoordinatorKind, Elected, NeverComes
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.asker import Asker
from workloads.clients import coordination
from workloads.clients.connection import Address
from workloads.clients.coordination import NotClassic
from workloads.clients.requests import Ask, Leadership, Quorum


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
