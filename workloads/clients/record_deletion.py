"""DeleteRecords: the leader of a log removes its records below an offset."""

from __future__ import annotations

from typing import NamedTuple

import kafka.errors
from kafka.protocol.admin import DeleteRecordsRequest

from workloads.clients.outcome import Type
from workloads.clients.protocol import Log
from workloads.clients.requests import Ask

TIMEOUT_MS = 1500
"""For which the leader waits for its followers to remove the records as well."""

REFUSED = {1, 17, 29, 44}
"""Error codes: offset out of range, invalid topic, not authorized, policy violation. The leader checks these before
it removes anything. Others may come after the leader has removed the records, for example when it loses its
leadership while it waits for a follower."""


class Deleted(NamedTuple):
    """How a deletion ended: ``ok`` if the leader and its followers removed the records, ``fail`` if the leader
    refused, ``info`` if that is unknown.

    low_watermark  the lowest log start of all replicas after it; None unless ``ok``.
    """

    type: Type
    low_watermark: int | None = None
    error: str | None = None


def delete_records(ask: Ask, log: Log, before: int) -> Deleted:
    """Ask a broker, which should lead the log, to remove the records below the offset `before`."""
    topic, number = log
    Topic = DeleteRecordsRequest.DeleteRecordsTopic
    partition = Topic.DeleteRecordsPartition(partition_index=number, offset=before)
    request = DeleteRecordsRequest(
        version=1, topics=[Topic(name=topic, partitions=[partition])], timeout_ms=TIMEOUT_MS
    )
    try:
        (answer,) = (each for topic in ask(request).topics for each in topic.partitions)
    except OSError as error:
        return Deleted("info", error=type(error).__name__)
    if not answer.error_code:
        return Deleted("ok", low_watermark=answer.low_watermark)
    return Deleted(
        "fail" if answer.error_code in REFUSED else "info",
        error=kafka.errors.for_code(answer.error_code).__name__,
    )
