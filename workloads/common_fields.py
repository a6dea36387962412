"""The fields that all built-in workloads have: those of their topics, and of their clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from workloads.values import (
    check_client,
    check_library,
    check_rate,
    check_topic_config,
    check_whole_number,
    checked_layout,
    checked_sizes,
    kafka_text,
)
from workloads.workload import Layout, Topic


class TopicFields(Protocol):
    """partitions, replication_factor, topic_config (settings) and assignment (see `Topic`) of each topic."""

    @property
    def partitions(self) -> int: ...
    @property
    def replication_factor(self) -> int: ...
    @property
    def topic_config(self) -> Mapping[str, str | int | float | bool]: ...
    @property
    def assignment(self) -> Layout | None: ...


class CommonFields(TopicFields, Protocol):
    """And `library`, the name of the client library."""

    @property
    def library(self) -> str: ...


def check_common_fields(workload: CommonFields, client: Mapping[str, Any] | None = None) -> None:
    """Check them, and `rate` and `record_size` where it has them. Assignment and sizes are brought into the form of
    `Layout` and `Sizes`: in JSON, their keys are text. For a frozen dataclass, while it is made.

    client  settings of the library's producer; None: the workload has no such field.
    Raises ValueError that names the class, the field, its value and what is expected.
    """
    of = type(workload).__name__
    check_whole_number(f"{of}.partitions", workload.partitions, 1, 1000)
    check_whole_number(f"{of}.replication_factor", workload.replication_factor, 1, 100)
    check_topic_config(f"{of}.topic_config", workload.topic_config, workload.replication_factor)
    layout = checked_layout(
        f"{of}.assignment",
        workload.assignment,
        partitions=workload.partitions,
        replication_factor=workload.replication_factor,
    )
    object.__setattr__(workload, "assignment", layout)
    check_library(f"{of}.library", workload.library)
    if hasattr(workload, "rate"):
        check_rate(f"{of}.rate", workload.rate)
    if hasattr(workload, "record_size"):
        sizes = checked_sizes(f"{of}.record_size", workload.record_size)
        object.__setattr__(workload, "record_size", sizes)
    if client is not None:
        check_client(f"{of}.client", client, workload.library)


def make_topic(workload: TopicFields, name: str, defaults: Mapping[str, str] | None = None) -> Topic:
    """A topic with the fields of the workload. defaults: settings where the workload states none."""
    stated = {setting: kafka_text(value) for setting, value in workload.topic_config.items()}
    return Topic(
        name=name,
        partitions=workload.partitions,
        replication_factor=workload.replication_factor,
        config={**(defaults or {}), **stated},
        assignment=workload.assignment,
    )
