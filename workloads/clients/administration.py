"""Changes of topics, their description, and the deletion of records: each is a request to one broker.

A broker forwards changes to the controller. Records are deleted by the leader of their log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import kafka.errors
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
)

from workloads.clients.outcome import Type
from workloads.clients.protocol import Log
from workloads.clients.requests import TOPIC, Ask, metadata_request, settings_request

TIMEOUT_MS = 3000
"""For which a broker waits for the controller."""

SET = 0
"""Operation of IncrementalAlterConfigs."""

UNKNOWN_TOPIC = 3

REFUSED = {17, 38, 39, 40, 42, 44}
"""Error codes: invalid topic, replication factor, assignment, config, request; policy violation. Others do not say
that nothing happened: a broker that repeats a request gets an answer about what its first attempt did."""

DELETION_TIMEOUT_MS = 1500
"""For which the leader waits for its followers to remove the records as well."""

DELETION_REFUSED = {1, 17, 29, 44}
"""Error codes: offset out of range, invalid topic, not authorized, policy violation. The leader checks these before
it removes anything. Others may come after the leader has removed the records, for example when it loses its
leadership while it waits for a follower."""


class Changed(NamedTuple):
    """How a change ended: ``ok`` if the controller acknowledged it, ``fail`` if it refused it."""

    type: Type
    error: str | None = None


class Described(NamedTuple):
    """A topic as one broker reports it; replicas by partition."""

    replicas: Mapping[int, tuple[int, ...]]


Change = Callable[[Ask], Changed]


def create(name: str, *, partitions: int, replication_factor: int, config: Mapping[str, str]) -> Change:
    Topic = CreateTopicsRequest.CreatableTopic
    request = CreateTopicsRequest(
        version=5,
        topics=[
            Topic(
                name=name,
                num_partitions=partitions,
                replication_factor=replication_factor,
                assignments=[],
                configs=[Topic.CreatableTopicConfig(name=key, value=value) for key, value in config.items()],
            )
        ],
        timeout_ms=TIMEOUT_MS,
        validate_only=False,
    )
    return lambda ask: _changed(ask, request, lambda answer: answer.topics)


def delete(names: Sequence[str]) -> Change:
    request = DeleteTopicsRequest(version=3, topic_names=list(names), timeout_ms=TIMEOUT_MS)
    return lambda ask: _changed(ask, request, lambda answer: answer.responses)


def add_partitions(name: str, total: int) -> Change:
    request = CreatePartitionsRequest(
        version=1,
        topics=[CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=total, assignments=None)],
        timeout_ms=TIMEOUT_MS,
        validate_only=False,
    )
    return lambda ask: _changed(ask, request, lambda answer: answer.results)


def configure(name: str, setting: str, value: str) -> Change:
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = Resource.AlterableConfig(name=setting, config_operation=SET, value=value)
    request = IncrementalAlterConfigsRequest(
        version=0,
        resources=[Resource(resource_type=TOPIC, resource_name=name, configs=[config])],
        validate_only=False,
    )
    return lambda ask: _changed(ask, request, lambda answer: answer.responses)


def reassign(log: Log, replicas: Sequence[int]) -> Change:
    Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = Topic.ReassignablePartition(partition_index=log[1], replicas=list(replicas))
    request = AlterPartitionReassignmentsRequest(
        version=0, topics=[Topic(name=log[0], partitions=[partition])], timeout_ms=TIMEOUT_MS
    )
    return lambda ask: _changed(
        ask,
        request,
        lambda answer: [answer, *(each for topic in answer.responses for each in topic.partitions)],
    )


def describe(ask: Ask, names: Iterable[str]) -> dict[str, Described]:
    """Those of the topics that the broker knows, all in one view of the cluster. Raises OSError without an answer."""
    return {
        topic.name: Described(
            {each.partition_index: tuple(each.replica_nodes) for each in topic.partitions},
        )
        for topic in ask(metadata_request(names)).topics
        if topic.error_code != UNKNOWN_TOPIC
    }


def setting(ask: Ask, name: str, key: str) -> str | None:
    """A setting of a topic as the broker knows it; None if it describes none. Raises OSError without an answer."""
    (found,) = ask(settings_request(TOPIC, [name], [key])).results
    return next((str(each.value) for each in found.configs if each.name == key), None)


def settings(ask: Ask, names: Iterable[str], keys: Sequence[str]) -> dict[str, dict[str, str]]:
    """By topic, these settings as the broker knows them, its defaults included; topics that it does not describe are
    left out. Raises OSError without an answer."""
    answer = ask(settings_request(TOPIC, names, keys))
    return {
        found.resource_name: {each.name: str(each.value) for each in found.configs}
        for found in answer.results
        if not found.error_code
    }


def _changed(ask: Ask, request: Any, parts: Callable[[Any], Iterable[Any]]) -> Changed:
    try:
        codes = [each.error_code for each in parts(ask(request))]
    except OSError as error:
        return Changed("info", type(error).__name__)
    code = next((code for code in codes if code), 0)
    if not code:
        return Changed("ok")
    return Changed("fail" if code in REFUSED else "info", kafka.errors.for_code(code).__name__)


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
        version=1, topics=[Topic(name=topic, partitions=[partition])], timeout_ms=DELETION_TIMEOUT_MS
    )
    try:
        (answer,) = (each for topic in ask(request).topics for each in topic.partitions)
    except OSError as error:
        return Deleted("info", error=type(error).__name__)
    if not answer.error_code:
        return Deleted("ok", low_watermark=answer.low_watermark)
    return Deleted(
        "fail" if answer.error_code in DELETION_REFUSED else "info",
        error=kafka.errors.for_code(answer.error_code).__name__,
    )
