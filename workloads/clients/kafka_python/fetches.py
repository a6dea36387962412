"""Which broker served a record, and when its response arrived.

kafka-python returns records from a buffer: a record may wait there, also while the log is truncated, and nothing in
it says where it came from. At most one response per partition is buffered, and the next one begins behind it.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.clients.protocol import Fetched


class Fetches:
    """Follows the responses of a fetcher. One look-up serves all records that a poll got of a partition."""

    def __init__(self, fetcher: Any) -> None:
        self._handle = fetcher._handle_fetch_response
        self._latest: dict[Any, tuple[tuple[int, Fetched], ...]] = {}
        """Partition to first offset and source of the last two responses with records: the next one may arrive before
        the poll that took the last record of the one before has returned."""
        fetcher._handle_fetch_response = self._note

    def source(self, partition: Any, offset: int) -> Fetched | None:
        """Of a record that a poll has just returned; None if it is unknown."""
        for start, source in reversed(self._latest.get(partition, ())):
            if start <= offset:
                return source
        return None

    def _note(self, node_id: int, fetch_offsets: Any, send_time: float, response: Any) -> Any:
        source = Fetched(node_id, time.monotonic_ns())
        with_records = {
            (topic.topic, data.partition_index)
            for topic in response.responses
            for data in topic.partitions
            if data.records
        }
        for partition, offset in fetch_offsets.items():
            if (partition.topic, partition.partition) in with_records:
                self._latest[partition] = (*self._latest.get(partition, ())[-1:], (offset, source))
        return self._handle(node_id, fetch_offsets, send_time, response)
