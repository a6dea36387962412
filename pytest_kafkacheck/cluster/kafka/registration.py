"""What the controller says of a broker: whether it is registered, and whether it may serve.

Brokers answer from their own view of the metadata, which may be old. A request to create a topic goes to the
controller, whichever broker gets it. With ``validate_only`` nothing is created, and the controller answers whether
the broker that is to hold the only replica is registered, and whether it is fenced.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka.protocol.admin import CreateTopicsRequest

from nemesis.cluster import Registration
from pytest_kafkacheck.cluster.kafka.change import ask_any
from workloads.clients.connection import Address

TOPIC = "kafkacheck-registration"
"""A name that no topic has: it is never created."""

TIMEOUT_MS = 5000
"""Milliseconds for the controller to answer."""

ACCEPTED, INVALID_ASSIGNMENT = 0, 39


def registration(brokers: Mapping[int, Address], node: int) -> Registration:
    """Of that broker, in the controller's answer. Raises OSError when the controller does not answer."""
    Topic = CreateTopicsRequest.CreatableTopic
    replica = Topic.CreatableReplicaAssignment(partition_index=0, broker_ids=[node])
    topic = Topic(name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=[replica], configs=[])
    request = CreateTopicsRequest(version=5, topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=True)
    done = {ACCEPTED, INVALID_ASSIGNMENT}
    return answered(*ask_any(brokers, request, lambda answer: answer.topics[0], done=done))


def answered(code: int, message: str | None) -> Registration:
    """The meaning of the controller's answer. Raises OSError where it says nothing of the broker."""
    text = message or ""
    if code == ACCEPTED:
        return "active"
    if code == INVALID_ASSIGNMENT and "no such broker is registered" in text:
        return "unregistered"
    if code == INVALID_ASSIGNMENT and ("fenced" in text or "shutdown" in text):
        return "fenced"
    raise OSError(f"the controller did not say whether the broker is registered: error {code}, {text}")
