"""Topics: made and removed by asking one broker after another; any of them forwards to the controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import kafka.errors
from kafka.protocol.admin import CreateTopicsRequest, DeleteTopicsRequest
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from pytest_kafkacheck.errors import InfrastructureError, UsageError
from workloads.clients.raw import Address, ask

ALREADY_EXISTS, UNKNOWN_TOPIC = 36, 3
REFUSED = {17, 37, 38, 39, 40, 42, 44}
"""Invalid topic, partitions, replication factor, assignment, config, request; policy violation."""

LIMIT = 30.0


def create(
    brokers: Mapping[int, Address],
    name: str,
    *,
    partitions: int = 1,
    replication_factor: int = 1,
    assignment: Mapping[int, Sequence[int]] | None = None,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create a topic; `assignment` maps partition to node ids and replaces the two counts.

    Raises UsageError when Kafka refuses what was asked, InfrastructureError when no broker took it.
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
    code, message = _ask_any(brokers, request, lambda answer: answer.topics[0], done={0, ALREADY_EXISTS})
    if code in REFUSED:
        raise UsageError(f"Kafka refused topic {name!r} ({kafka.errors.for_code(code).__name__}): {message}")
    if code not in (0, ALREADY_EXISTS):
        raise InfrastructureError(f"Topic {name!r} could not be created within {LIMIT} s: {message}")


def delete(brokers: Mapping[int, Address], name: str) -> None:
    """Delete a topic, whether or not it exists. Raises InfrastructureError when no broker took it."""
    request = DeleteTopicsRequest(version=3, topic_names=[name], timeout_ms=5000)
    code, _ = _ask_any(brokers, request, lambda answer: answer.responses[0], done={0, UNKNOWN_TOPIC})
    if code not in (0, UNKNOWN_TOPIC):
        raise InfrastructureError(f"Topic {name!r} could not be deleted within {LIMIT} s: error {code}")


class _Again(Exception):
    """No final answer yet: (error code, text)."""


def _ask_any(
    brokers: Mapping[int, Address], request: Any, pick: Callable[[Any], Any], *, done: set[int]
) -> tuple[int, str]:
    def once() -> tuple[int, str]:
        last = (-1, "no broker answered")
        for address in brokers.values():
            try:
                answer = pick(ask(address, request, timeout=6.0))
            except OSError as error:
                last = (-1, f"{address}: {error!r}")
                continue
            last = (answer.error_code, getattr(answer, "error_message", "") or "")
            if last[0] in done | REFUSED:
                return last
        raise _Again(*last)

    try:
        return Retrying(
            stop=stop_after_delay(LIMIT),
            wait=wait_fixed(0.3),
            retry=retry_if_exception_type(_Again),
            reraise=True,
        )(once)
    except _Again as again:
        code, text = again.args
        return code, text
