"""Topics: creating and deleting them, what a topic is at a moment, and the changes that a run makes on purpose.

A topic that is deleted and created again keeps its name, but is another log: only the topic id tells the two apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

import kafka.errors
from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest

from pytest_kafkacheck.cluster.kafka.metadata_views import LIMIT, REFUSED, TIMEOUT, ask_any
from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients import requests
from workloads.clients.connection import Address, ask

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


TopicEvent = Literal["created", "deleted", "recreated"]

WITH_TOPIC_ID = 10
"""The version of Metadata since which the response has topic ids; brokers have it from Kafka 2.8 on."""

WITHOUT_TOPIC_ID = 8


@dataclass(frozen=True, kw_only=True)
class TopicState:
    """id      null where the release has no topic ids.
    config  effective settings, defaults of the brokers included; empty if no broker described them.
    """

    id: str | None = None
    partitions: int = 0
    replication_factor: int = 0
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TopicChange:
    """A topic that was created or deleted. Times are monotonic ns, of the request and of its answer.

    state  after a creation, and before a deletion.
    """

    event: TopicEvent
    topic: str
    state: TopicState
    invoked: int
    completed: int

    def row(self) -> dict[str, Any]:
        """As a row of the table ``operations``."""
        return {
            "f": "topic",
            "type": "ok",
            "topic": self.topic,
            "invoked": self.invoked,
            "completed": self.completed,
            "value": {
                "event": self.event,
                "id": self.state.id,
                "partitions": self.state.partitions,
                "replication_factor": self.state.replication_factor,
                "config": dict(self.state.config),
            },
        }


Report = Callable[[TopicChange], None]


@contextmanager
def reported(
    brokers: Mapping[int, Address], topic: str, event: TopicEvent, report: Report | None
) -> Iterator[None]:
    """Report the change of a topic that the block makes, unless the block raises."""
    if report is None:
        yield
        return
    state = topic_state(brokers, topic) if event == "deleted" else None
    invoked = time.monotonic_ns()
    yield
    completed = time.monotonic_ns()
    report(
        TopicChange(
            event=event,
            topic=topic,
            state=state or topic_state(brokers, topic),
            invoked=invoked,
            completed=completed,
        )
    )


def topic_state(brokers: Mapping[int, Address], topic: str) -> TopicState:
    """As reported by the first broker that knows the topic; everything empty where none does."""
    for address in brokers.values():
        found = _described(address, topic)
        if found is not None and not found.error_code:
            return TopicState(
                id=_id(found),
                partitions=len(found.partitions),
                replication_factor=max((len(each.replica_nodes) for each in found.partitions), default=0),
                config=_config(brokers, topic),
            )
    return TopicState()


def topic_id(address: Address, topic: str) -> str | None:
    """As that broker reports it; empty if it does not know the topic, None where the release has no topic ids.

    Raises OSError without an answer.
    """
    found = _described(address, topic)
    if found is None:
        raise ConnectionError(f"{address} does not answer about topic {topic}")
    return "" if found.error_code else _id(found)


def _described(address: Address, topic: str) -> Any:
    """The topic in one broker's metadata; None without an answer."""
    # A broker closes the connection on a version that it does not know.
    for version in (WITH_TOPIC_ID, WITHOUT_TOPIC_ID):
        request = requests.metadata_request([topic], version=version)
        try:
            (found,) = ask(address, request, timeout=TIMEOUT).topics
        except ConnectionResetError:
            continue
        except OSError:
            return None
        return found
    return None


def _id(found: Any) -> str | None:
    topic_id = getattr(found, "topic_id", None)
    # Zero stands for none: the brokers' inter.broker.protocol.version may be older than the brokers.
    return None if topic_id is None or topic_id == UUID(int=0) else str(topic_id)


def _config(brokers: Mapping[int, Address], topic: str) -> Mapping[str, str]:
    request = requests.settings_request(requests.TOPIC, [topic])
    for address in brokers.values():
        try:
            (found,) = ask(address, request, timeout=TIMEOUT).results
        except OSError:
            continue
        if not found.error_code:
            return {each.name: each.value for each in found.configs if each.value is not None}
    return {}
