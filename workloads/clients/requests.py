"""What one broker reports: metadata, offsets, watermarks, the quorum, and the batches of a log.

`ask` sends a request to the broker and returns the response, or raises OSError: see `connection`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest, DescribeQuorumRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.record.memory_records import MemoryRecords

from workloads.clients.protocol import Log

Ask = Callable[[Any], Any]

LATEST, EARLIEST = -1, -2
"""Timestamps of ListOffsets: the end of the readable records, and the first offset."""

CLIENT, REPLICA = -1, -2
"""The replica id of the request: to a client, only the leader answers, with the high watermark. To a replica, every
broker answers, with the end of its log."""


class Leadership(NamedTuple):
    """A partition in the metadata of one broker; `leader` is -1 for none, `replicas` are in assignment order.

    topic_id is "" where the release has none.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...] = ()
    topic_id: str = ""


UNCOMMITTED, COMMITTED = 0, 1
"""Isolation level read_committed, with which the response has the last stable offset."""


class Watermarks(NamedTuple):
    """`last_stable`: the first offset that read_committed consumers do not get yet; None where it is not reported."""

    high_watermark: int
    log_start: int
    last_stable: int | None = None


class Quorum(NamedTuple):
    """The quorum of controllers: its leader, and each voter's log end offset as the leader knows it."""

    leader: int
    epoch: int
    high_watermark: int
    ends: Mapping[int, int]


def metadata(ask: Ask, topics: Iterable[str] | None) -> dict[Log, Leadership]:
    """The broker's own view, which may be outdated. topics: None for all."""
    request = metadata_request(topics)
    return {
        (topic.name, partition.partition_index): Leadership(
            partition.leader_id,
            partition.leader_epoch,
            tuple(sorted(partition.isr_nodes)),
            tuple(partition.replica_nodes),
            str(topic.topic_id) if topic.topic_id else "",
        )
        for topic in ask(request).topics
        for partition in topic.partitions
    }


def racks(ask: Ask) -> dict[int, str]:
    """The rack of each broker that has one and that this broker knows to be up."""
    return {
        broker.node_id: broker.rack for broker in ask(metadata_request([], version=9)).brokers if broker.rack
    }


def controller(ask: Ask) -> int:
    """The controller that this broker names; -1 for none. In KRaft mode it names any broker."""
    return int(ask(metadata_request([], version=9)).controller_id)


def metadata_request(topics: Iterable[str] | None, *, version: int = 10) -> MetadataRequest:
    """Of topics by name; None for all. It creates none."""
    Topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        version=version,
        topics=None if topics is None else [Topic(name=name) for name in topics],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


TOPIC, BROKER = 2, 4
"""Resource types of settings."""


def settings_request(
    kind: int, resources: Iterable[str], settings: Sequence[str] | None = None
) -> DescribeConfigsRequest:
    """Of the settings of topics or brokers, by name. settings: None for all."""
    Resource = DescribeConfigsRequest.DescribeConfigsResource
    keys = None if settings is None else list(settings)
    wanted = [Resource(resource_type=kind, resource_name=name, configuration_keys=keys) for name in resources]
    return DescribeConfigsRequest(version=1, resources=wanted, include_synonyms=False)


def offsets(
    ask: Ask,
    epochs: Mapping[Log, int],
    *,
    at: int = LATEST,
    asker: int = CLIENT,
    committed: bool = False,
) -> dict[Log, tuple[int, int]]:
    """(error code, offset) by log. A broker refuses a leader epoch that is not its own; -1 is any epoch.

    committed  as a consumer with isolation.level=read_committed asks: LATEST is then the last stable offset.
    """
    Topic = ListOffsetsRequest.ListOffsetsTopic
    request = ListOffsetsRequest(
        version=5,
        replica_id=asker,
        isolation_level=COMMITTED if committed else UNCOMMITTED,
        topics=[
            Topic(
                name=name,
                partitions=[
                    Topic.ListOffsetsPartition(
                        partition_index=log[1], current_leader_epoch=epochs[log], timestamp=at
                    )
                    for log in logs
                ],
            )
            for name, logs in groupby(sorted(epochs), key=lambda log: log[0])
        ],
    )
    return {
        (topic.name, partition.partition_index): (partition.error_code, partition.offset)
        for topic in ask(request).topics
        for partition in topic.partitions
    }


def watermarks(ask: Ask, start: Mapping[Log, int]) -> dict[Log, Watermarks]:
    """Of the broker's own replicas, whether it leads them or not. Logs that it refuses are left out.

    start  offsets to fetch from, by log. They should be near the end, because the response contains records.
    """
    return {
        log: Watermarks(
            found.high_watermark,
            found.log_start_offset,
            found.last_stable_offset if found.last_stable_offset >= 0 else None,
        )
        for log, found in fetch(ask, start, most_bytes=1, committed=True).items()
        if found.error_code == 0
    }


def fetch(
    ask: Ask, start: Mapping[Log, int], *, most_bytes: int, committed: bool = False, wait: float = 0.0
) -> dict[Log, Any]:
    """By log what the broker's own replica has from these offsets on, as kafka-python decodes it (error_code,
    high_watermark, log_start_offset, last_stable_offset, records). A batch may be longer than `most_bytes`.

    committed  as a consumer with isolation.level=read_committed asks: without it there is no last stable offset.
    wait       seconds for which the broker waits for a record where there is none.
    """
    Topic = FetchRequest.FetchTopic
    request = FetchRequest(
        version=11,
        replica_id=CLIENT,
        max_wait_ms=round(wait * 1000),
        min_bytes=1 if wait else 0,
        max_bytes=most_bytes,
        isolation_level=COMMITTED if committed else UNCOMMITTED,
        session_id=0,
        session_epoch=-1,
        forgotten_topics_data=[],
        rack_id="",
        topics=[
            Topic(
                topic=name,
                partitions=[
                    Topic.FetchPartition(
                        partition=log[1],
                        current_leader_epoch=-1,
                        fetch_offset=start[log],
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=most_bytes,
                    )
                    for log in logs
                ],
            )
            for name, logs in groupby(sorted(start), key=lambda log: log[0])
        ],
    )
    return {
        (topic.topic, partition.partition_index): partition
        for topic in ask(request).responses
        for partition in topic.partitions
    }


def quorum(ask: Ask) -> Quorum | None:
    """The KRaft quorum; None when the broker does not know its leader."""
    topic = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata",
        partitions=[DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)],
    )
    answer = ask(DescribeQuorumRequest(version=0, topics=[topic]))
    if answer.error_code or not answer.topics:
        return None
    partition = answer.topics[0].partitions[0]
    if partition.error_code or partition.leader_id < 0:
        return None
    ends = {voter.replica_id: voter.log_end_offset for voter in partition.current_voters}
    return Quorum(partition.leader_id, partition.leader_epoch, partition.high_watermark, ends)


NEWEST_FORMAT = 2
"""Of a record batch. Older ones are written by releases and settings before Kafka 0.11."""

MOST_BYTES = 1 << 20
"""Of one fetch."""


def log_batches(ask: Ask, log: Log, start: int, end: int) -> Iterator[Any]:
    """From the offset `start` to `end` (exclusive), as kafka-python decodes them. ask: of the leader. Raises OSError
    when it refuses; stops early at a batch of an old format, and where the leader returns nothing more."""
    while start < end:
        found = fetch(ask, {log: start}, most_bytes=MOST_BYTES).get(log)
        if found is None or found.error_code:
            raise OSError(f"{log[0]}-{log[1]} at {start}: error {found and found.error_code}")
        before = start
        for batch in decoded(found.records or b""):
            start = batch.next_offset
            yield batch
        if start == before:
            return


def decoded(data: bytes) -> Iterator[Any]:
    """data: of a fetch, may end within a batch."""
    records = MemoryRecords(bytes(data))
    while (batch := records.next_batch()) is not None and batch.magic == NEWEST_FORMAT:
        yield batch
