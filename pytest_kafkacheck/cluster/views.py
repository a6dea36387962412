"""What each broker says of the cluster. Views differ while things change; the highest epoch is the newest.

One request to one broker, nothing cached: a cut-off broker goes on telling the past, and that is
something to see, not to hide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest, DescribeQuorumRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from workloads.clients.raw import Address, ask

TIMEOUT = 1.5
LATEST, EARLIEST = -1, -2


@dataclass(frozen=True)
class PartitionView:
    """A partition as one broker knows it. `leader` is None when there is none."""

    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


Key = tuple[str, int]
View = Mapping[Key, PartitionView]


def metadata(address: Address, topics: Iterable[str]) -> View:
    """That broker's own view of the topics' partitions. Raises OSError when it does not answer."""
    names = [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(
        version=8,
        topics=names,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    answer = ask(address, request, timeout=TIMEOUT)
    return {
        (topic.name, partition.partition_index): PartitionView(
            leader=partition.leader_id if partition.leader_id >= 0 else None,
            leader_epoch=partition.leader_epoch,
            replicas=tuple(partition.replica_nodes),
            isr=tuple(sorted(partition.isr_nodes)),
        )
        for topic in answer.topics
        for partition in topic.partitions
    }


def views(addresses: Mapping[int, Address], topics: Iterable[str]) -> dict[int, View]:
    """The views of all brokers that answer, asked at the same time."""
    names = tuple(topics)

    def one(node: int) -> View | None:
        try:
            return metadata(addresses[node], names)
        except OSError:
            return None

    with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
        answers = dict(zip(addresses, pool.map(one, addresses), strict=True))
    return {node: view for node, view in answers.items() if view is not None}


def newest(all_views: Iterable[View], key: Key) -> PartitionView | None:
    """The view of a partition with the highest leader epoch."""
    found = [view[key] for view in all_views if key in view]
    return max(found, key=lambda view: view.leader_epoch, default=None)


def quorum_leader(addresses: Mapping[int, Address]) -> tuple[int, int] | None:
    """(node id, epoch) of the active controller, from the first brokers that know; the highest epoch wins.

    The controller that metadata and DescribeCluster name is any living broker in KRaft mode.
    """
    topic = DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata",
        partitions=[DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)],
    )

    def one(node: int) -> tuple[int, int] | None:
        try:
            answer = ask(addresses[node], DescribeQuorumRequest(version=0, topics=[topic]), timeout=TIMEOUT)
        except OSError:
            return None
        if answer.error_code or not answer.topics:
            return None
        partition = answer.topics[0].partitions[0]
        return (partition.leader_id, partition.leader_epoch) if partition.error_code == 0 else None

    with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
        answers = [answer for answer in pool.map(one, addresses) if answer is not None and answer[0] >= 0]
    return max(answers, key=lambda answer: answer[1], default=None)


def unfenced(address: Address) -> set[int]:
    """Node ids of the brokers the controller has not fenced, as the asked broker knows."""
    request = DescribeClusterRequest(version=0, include_cluster_authorized_operations=False)
    answer = ask(address, request, timeout=TIMEOUT)
    return {broker.broker_id for broker in answer.brokers}


def offset(
    address: Address, key: Key, *, at: int = LATEST, replica: int = -1, leader_epoch: int = -1
) -> tuple[int, int]:
    """(error code, offset) of ListOffsets. `replica` -2 asks any replica for its own log end."""
    Topic = ListOffsetsRequest.ListOffsetsTopic
    partition = Topic.ListOffsetsPartition(
        partition_index=key[1], current_leader_epoch=leader_epoch, timestamp=at
    )
    request = ListOffsetsRequest(
        version=5,
        replica_id=replica,
        isolation_level=0,
        topics=[Topic(name=key[0], partitions=[partition])],
    )
    answer: Any = ask(address, request, timeout=TIMEOUT).topics[0].partitions[0]
    return int(answer.error_code), int(answer.offset)
