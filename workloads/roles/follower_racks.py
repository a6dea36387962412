"""Racks from which a consumer reads from a follower, because the leader is in another one (KIP-392)."""

from __future__ import annotations

import time
from functools import partial

from workloads.clients import requests
from workloads.clients.connection import ask
from workloads.clients.protocol import Log
from workloads.roles.context import WorkerContext

TIMEOUT = 1.0
"""Seconds for the answer of one broker."""

PAUSE = 0.2

START_LIMIT = 60.0
"""Seconds for a broker to name the racks, and a partition's leader and followers, when the session begins."""


class FollowerRacks:
    """The racks of the brokers, asked when it is made. Raises TimeoutError when no broker answers, and ValueError
    when no broker has a rack."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._chosen = 0
        deadline = time.monotonic() + START_LIMIT
        while (racks := self._racks()) is None:
            if time.monotonic() > deadline or context.stop.wait(PAUSE):
                raise TimeoutError(f"no broker named the racks within {START_LIMIT:g} s")
        if not racks:
            raise ValueError("no broker has a rack (broker.rack), so no client can read from a follower")
        self._rack_of = racks

    def choose(self, log: Log) -> str | None:
        """A rack with a follower in sync and without the leader; the next one each time. It waits until there is one:
        None when `context.stop` is set before."""
        while not (racks := self._without_leader(log)):
            if self._context.stop.wait(PAUSE):
                return None
        self._chosen += 1
        return racks[self._chosen % len(racks)]

    def _without_leader(self, log: Log) -> list[str]:
        for node in self._context.brokers:
            try:
                state = requests.metadata(self._way(node), [log[0]]).get(log)
            except OSError:
                continue
            if state is not None and state.leader >= 0:
                of_leader = self._rack_of.get(state.leader)
                racks = {self._rack_of.get(each) for each in state.isr} - {of_leader, None}
                if racks:
                    return sorted(rack for rack in racks if rack is not None)
        return []

    def _racks(self) -> dict[int, str] | None:
        for node in self._context.brokers:
            try:
                return requests.racks(self._way(node))
            except OSError:
                continue
        return None

    def _way(self, node: int) -> requests.Ask:
        return partial(ask, self._context.brokers[node], timeout=TIMEOUT)
