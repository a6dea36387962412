"""A client that reads logs on its own, without a group."""

from __future__ import annotations

from typing import Any

from tests.support.miniature.client import Client, Positions
from tests.support.miniature.partition import Partition
from tests.support.miniature.scheduler import Steps
from tests.support.miniature.state import State


class Reader(Client):
    """Reads on, and sometimes seeks."""

    poll_limit = 2.0

    def __init__(self, state: State, process: int, *, committed: bool) -> None:
        super().__init__(state, process, "reader")
        self._committed = committed
        self._known: dict[Partition, dict[str, Any]] = {}
        """The last record polled of each."""

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
            elif self.random.random() < 0.05 and partition in self._known:
                positions[partition] = yield from self._search(partition, positions[partition])
            position, before = positions.get(partition, 0), len(self.story.records)
            positions[partition] = yield from self.poll(partition, position, committed=self._committed)
            mine = [row for row in self.story.records[before:] if row["process"] == self.process]
            self._known |= {partition: mine[-1]} if mine else {}
            yield self.delay()

    def _search(self, partition: Partition, position: int) -> Steps:
        """Ask for the time of the last record polled. Returns the position from which it goes on."""
        known = self._known[partition]
        timestamp = partition.entries[known["offset"]].appended
        about = {"timestamp": timestamp, "value": known["value"], "found": None}
        row = self.begin("search", partition=partition.number, start_offset=known["offset"], value=about)
        yield self.delay(5)
        if not partition.has_leader:
            return position
        found = partition.search(timestamp)
        yield self.delay(5)
        self.complete(row, end_offset=found)
        self.state.counts["searches"] += 1
        if found is None:
            return position
        self.assignment += 1
        return found
