"""A broker with prepared answers, which are encoded and decoded as on the network."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from kafka.protocol.metadata import MetadataResponse

from workloads.clients.group_log import TOPIC


def offsets_topic(partitions: int) -> MetadataResponse:
    Topic = MetadataResponse.MetadataResponseTopic
    parts = [
        Topic.MetadataResponsePartition(
            version=10, error_code=0, partition_index=number, leader_id=1, leader_epoch=0, replica_nodes=[1],
            isr_nodes=[1], offline_replicas=[],
        )
        for number in range(partitions)
    ]  # fmt: skip
    topic = Topic(
        version=10, error_code=0 if partitions else 3, name=TOPIC, topic_id=UUID(int=1), is_internal=True,
        partitions=parts,
    )  # fmt: skip
    return MetadataResponse(
        version=10, throttle_time_ms=0, brokers=[], cluster_id="c", controller_id=1, topics=[topic],
    )  # fmt: skip


class ScriptedBroker:
    """Answers each kind of request with this response, and remembers what it was asked.

    versions  the highest one of each request; below 0: it knows none of them.
    """

    def __init__(self, *responses: Any, versions: int = 5) -> None:
        self.by_request = {type(each).__name__.replace("Response", "Request"): each for each in responses}
        self.versions = versions
        self.asked: list[Any] = []

    def ask(self, request: Any) -> Any:
        self.asked.append(request)
        if type(request).__name__ == "ApiVersionsRequest":
            known = [75, 16, 66] if self.versions >= 0 else []
            return SimpleNamespace(
                api_keys=[SimpleNamespace(api_key=key, max_version=self.versions) for key in known]
            )
        request.encode()  # Kafka knows this version, and its fields are complete.
        name = type(request).__name__
        response = self.by_request.get(name) or (offsets_topic(0) if name == "MetadataRequest" else None)
        assert response is not None, name
        return type(response).decode(bytes(response.encode()), version=response.version)
