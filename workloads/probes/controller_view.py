"""The controller in ZooKeeper mode, as each broker knows it; nothing in KRaft mode, where brokers name any broker.

`leader` is the controller, -1 for none. A broker does not report an epoch with it. It learns of a controller from the
controller itself, so that one that is cut off from it goes on to name the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka.protocol.admin import DescribeQuorumRequest

from workloads.clients import requests
from workloads.clients.coordination import highest_version
from workloads.probes.probe import Ask, Row, Source


class ControllerViewProbe:
    kind = "controller_view"
    interval = 0.2
    asks: Source = "every broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:  # noqa: ARG002
        self._is_kraft: bool | None = None

    def sample(self, ask: Ask) -> Iterator[Row]:
        if self._is_kraft is None:
            # As in `quorum`: brokers of ZooKeeper mode do not have this request.
            self._is_kraft = highest_version(ask, DescribeQuorumRequest.API_KEY) >= 0
        if not self._is_kraft:
            yield {"leader": requests.controller(ask)}


PROBE = ControllerViewProbe
