"""The active controller, its epoch, and how far the metadata log reaches; nothing in ZooKeeper mode.

``high_watermark`` is that of the metadata log. The value ``{"ends": {controller: log end offset}}`` has those of all
voters, as the active controller knows them.

A broker forwards the question to the active controller and waits for it. So brokers are asked in turn, apart from
other probes, and over a connection of its own each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafka.protocol.admin import DescribeQuorumRequest

from workloads.clients import requests
from workloads.clients.coordination import highest_version
from workloads.probes.probe import Ask, Row, Source


class QuorumProbe:
    kind = "quorum"
    interval = 0.2
    asks: Source = "any broker"

    def __init__(self, topics: Mapping[str, int], run: str) -> None:  # noqa: ARG002
        self._is_kraft: bool | None = None

    def sample(self, ask: Ask) -> Iterator[Row]:
        if self._is_kraft is None:
            # Brokers of ZooKeeper mode do not have this request, and close the connection over which it comes.
            self._is_kraft = highest_version(ask, DescribeQuorumRequest.API_KEY) >= 0
        quorum = requests.quorum(ask) if self._is_kraft else None
        if quorum is not None:
            yield {
                "leader": quorum.leader,
                "leader_epoch": quorum.epoch,
                # -1: a new leader does not know it yet.
                "high_watermark": quorum.high_watermark if quorum.high_watermark >= 0 else None,
                "value": {"ends": quorum.ends},
            }


PROBE = QuorumProbe
