"""The controller in ZooKeeper mode and its epoch, as ZooKeeper has them; nothing in KRaft mode.

`leader` is the controller, -1 while there is none; `leader_epoch` counts elections; `node` is null. A sample during
which an election was held gives no row, see `workloads.clients.zookeeper_session`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workloads.clients.zookeeper_session import controller
from workloads.probes.probe import Ask, Row, Source


class ControllerProbe:
    kind = "controller"
    interval = 0.2
    asks: Source = "ZooKeeper"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:
        """It depends on neither."""

    def sample(self, ask: Ask) -> Iterator[Row]:
        found = controller(ask)
        if found is not None:
            yield {"leader": found.node, "leader_epoch": found.epoch}


PROBE = ControllerProbe
