"""Which broker served a record, when its response arrived, and which end of the log the last response reported.

kafka-python returns records from a buffer: a record may wait there, also while the log is truncated, and nothing in
it says where it came from. At most one response per partition is buffered, and the next one begins behind it.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.clients.protocol import Fetched, ReportedEnd


class Fetches:
    """Follows the responses of a fetcher. One look-up serves all records that a poll got of a partition."""

    def __init__(self, fetcher: Any) -> None:
        self._handle = fetcher._handle_fetch_response
        self._latest: dict[Any, tuple[tuple[int, Fetched], ...]] = {}
        """Partition to first offset and source of the last two responses with records: the next one may arrive before
        the poll that took the last record of the one before has returned."""
        self._watermarks: dict[tuple[int, Any], int] = {}
        """The last high watermark by broker and partition. In a fetch session (KIP-227), a broker leaves out the
        partitions of which nothing has changed."""
        self._ends: dict[Any, ReportedEnd] = {}
        fetcher._handle_fetch_response = self._note

    def source(self, partition: Any, offset: int) -> Fetched | None:
        """Of a record that a poll has just returned; None if it is unknown."""
        for start, source in reversed(self._latest.get(partition, ())):
            if start <= offset:
                return source
        return None

    def end(self, partition: Any) -> ReportedEnd | None:
        """As the last response reported it. Responses that only name the replica to read from do not count."""
        return self._ends.get(partition)

    def _note(self, node_id: int, fetch_offsets: Any, send_time: float, response: Any) -> Any:
        source = Fetched(node_id, time.monotonic_ns())
        reported = {
            (topic.topic, data.partition_index): data
            for topic in response.responses
            for data in topic.partitions
        }
        for partition, offset in fetch_offsets.items():
            data = reported.get((partition.topic, partition.partition))
            if data is not None and data.records:
                self._latest[partition] = (*self._latest.get(partition, ())[-1:], (offset, source))
        if not response.error_code:
            self._note_ends(node_id, fetch_offsets, int(send_time * 1e9), reported)
        return self._handle(node_id, fetch_offsets, send_time, response)

    def _note_ends(self, node_id: int, fetch_offsets: Any, asked: int, reported: Any) -> None:
        for partition in fetch_offsets:
            at, data = (node_id, partition), reported.get((partition.topic, partition.partition))
            if data is not None:
                if data.error_code or data.high_watermark < 0 or data.preferred_read_replica >= 0:
                    # A broker that names another replica to read from returns no records, and its own watermark.
                    self._watermarks.pop(at, None)
                    continue
                self._watermarks[at] = data.high_watermark
            if at in self._watermarks:
                self._ends[partition] = ReportedEnd(node_id, asked, self._watermarks[at])
