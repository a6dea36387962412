"""A client that reads logs on its own, without a group."""

from __future__ import annotations

from tests.support.miniature.client import Client, Positions
from tests.support.miniature.scheduler import Steps
from tests.support.miniature.state import State


class Reader(Client):
    """Reads on, and sometimes seeks."""

    poll_limit = 2.0

    def __init__(self, state: State, process: int, *, committed: bool) -> None:
        super().__init__(state, process, "reader")
        self._committed = committed

    def work(self) -> Steps:
        positions = Positions()
        while self.state.is_loaded:
            partition = self.any_partition()
            if "stalled" in self.state.flaws and partition.number == 0 and positions.get(partition, 0) > 0:
                yield self.delay()
                continue
            if self.random.random() < 0.05:
                self.assignment += 1
                positions[partition] = self.random.randint(0, partition.high_watermark)
            position = positions.get(partition, 0)
            positions[partition] = yield from self.poll(partition, position, committed=self._committed)
            yield self.delay()
