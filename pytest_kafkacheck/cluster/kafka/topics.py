"""Creates and deletes topics by a request to one broker after another; any broker forwards it to the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import kafka.errors
from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest

from pytest_kafkacheck.cluster.kafka.change import LIMIT, REFUSED, ask_any
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.connection import Address

ALREADY_EXISTS, UNKNOWN_TOPIC = 36, 3


def create(
    brokers: Mapping[int, Address],
    name: str,
    *,
    partitions: int = 1,
    replication_factor: int = 1,
    assignment: Mapping[int, Sequence[int]] | None = None,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create a topic. `assignment` maps partitions to node ids and replaces the two counts.

    Raises UsageError when Kafka refuses the request, InfrastructureError when no broker accepts it.
    """
    Topic = CreateTopicsRequest.CreatableTopic
    topic = Topic(
        name=name,
        num_partitions=-1 if assignment else partitions,
        replication_factor=-1 if assignment else replication_factor,
        assignments=[
            Topic.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(nodes))
            for partition, nodes in (assignment or {}).items()
        ],
        configs=[
            Topic.CreatableTopicConfig(name=key, value=str(value)) for key, value in (config or {}).items()
        ],
    )
    request = CreateTopicsRequest(version=5, topics=[topic], timeout_ms=5000, validate_only=False)
    code, message = ask_any(brokers, request, lambda answer: answer.topics[0], done={0, ALREADY_EXISTS})
    if code in REFUSED:
        raise UsageError(f"Kafka refused topic {name!r} ({kafka.errors.for_code(code).__name__}): {message}")
    if code not in (0, ALREADY_EXISTS):
        raise InfrastructureError(f"Topic {name!r} could not be created within {LIMIT} s: {message}")


def delete(brokers: Mapping[int, Address], name: str) -> None:
    """Delete a topic if it exists. Raises InfrastructureError when no broker accepts the request."""
    request = DeleteTopicsRequest(version=3, topic_names=[name], timeout_ms=5000)
    code, _ = ask_any(brokers, request, lambda answer: answer.responses[0], done={0, UNKNOWN_TOPIC})
    if code not in (0, UNKNOWN_TOPIC):
        raise InfrastructureError(f"Topic {name!r} could not be deleted within {LIMIT} s: error {code}")
