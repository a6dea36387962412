"""The controller in ZooKeeper mode, for looks that are repeated many times a second."""

from __future__ import annotations

from collections.abc import Callable

from nemesis.views import Elected
from pytest_kafkacheck.cluster.kafka.asker import PATIENCE
from workloads.clients.connection import Ensemble
from workloads.clients.zookeeper_session import ZooKeeperSession, controller

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
