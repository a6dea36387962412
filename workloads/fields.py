"""Checks of the fields that workloads have in common.

Each raises ValueError naming the class, the field, its value and what is allowed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from workloads.clients.library import library, library_names


class _OneTopic(Protocol):
    @property
    def partitions(self) -> int: ...
    @property
    def replication_factor(self) -> int: ...
    @property
    def topic_config(self) -> Mapping[str, str | int | float | bool]: ...
    @property
    def assignment(self) -> Mapping[int, Sequence[int]] | None: ...


class _WithClients(Protocol):
    @property
    def library(self) -> str: ...
    @property
    def client(self) -> Mapping[str, Any]: ...


def check_counts(workload: object, **allowed: tuple[int, int]) -> None:
    """Whole numbers, by field: the least and the most that is allowed."""
    for name, (least, most) in allowed.items():
        value = getattr(workload, name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{_name(workload, name)}={value!r}: expected a whole number, {least} to {most}")


def check_seconds(workload: object, **allowed: tuple[float, float]) -> None:
    """Seconds, by field: the least and the most that is allowed."""
    _check_numbers(workload, "seconds", allowed)


def check_shares(workload: object, *names: str) -> None:
    _check_numbers(workload, "a share", dict.fromkeys(names, (0, 1)))


def check_rate(workload: object, what: str, most: float) -> None:
    """The field `rate`. what: its unit, such as "records per second"."""
    rate = workload.rate  # type: ignore[attr-defined]
    if rate is not None and not (_is_number(rate) and 0 < rate <= most):
        raise ValueError(
            f"{_name(workload, 'rate')}={rate!r}: expected {what} above 0, or None for full speed; "
            f"{most:.0f} at most"
        )


def check_choices(workload: object, **allowed: Sequence[object]) -> None:
    """By field, the values that are allowed. They are compared with their types, because True equals 1."""
    for name, values in allowed.items():
        value = getattr(workload, name)
        if not any(type(value) is type(each) and value == each for each in values):
            *some, last = map(repr, values)
            raise ValueError(f"{_name(workload, name)}={value!r}: expected {', '.join(some)} or {last}")


def check_topic_config(workload: _OneTopic) -> None:
    """Settings of a topic by name; min.insync.replicas must be possible."""
    config = workload.topic_config
    where = _name(workload, "topic_config")
    if not isinstance(config, Mapping):
        raise ValueError(
            f"{where}={config!r}: expected settings by name, such as {{'min.insync.replicas': 2}}"
        )
    for name, value in config.items():
        if (
            not isinstance(name, str)
            or not isinstance(value, (str, int, float))
            or (isinstance(value, float) and not math.isfinite(value))
        ):
            raise ValueError(f"{where}[{name!r}]={value!r}: expected text, a number, True or False")
    minimum, most = config.get("min.insync.replicas", 1), workload.replication_factor
    try:
        is_possible = 1 <= int(minimum) <= most
    except ValueError:
        is_possible = False
    if not is_possible:
        raise ValueError(
            f"{where}['min.insync.replicas']={minimum!r} with replication_factor={most}: expected 1 to {most}"
        )


def check_client(workload: _WithClients) -> None:
    """The library, and settings of its producer."""
    if workload.library not in library_names():
        raise ValueError(
            f"{_name(workload, 'library')}={workload.library!r}: expected one of {', '.join(library_names())}"
        )
    where = _name(workload, "client")
    client = workload.client
    if not isinstance(client, Mapping) or not all(isinstance(name, str) for name in client):
        raise ValueError(
            f"{where}={client!r}: expected settings of KafkaProducer by name, such as {{'linger_ms': 5}}"
        )
    for name, value in client.items():
        try:
            library(workload.library).check_producer_setting(name)
        except ValueError as error:
            raise ValueError(f"{where}[{name!r}]: {error}") from None
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where}[{name!r}]={value!r}: expected text, a number, True, False or None, because it is sent "
                f"to another process"
            ) from None


def checked_assignment(workload: _OneTopic) -> dict[int, tuple[int, ...]] | None:
    """The field `assignment` with numbers as keys, in order. In JSON, keys are text."""
    if workload.assignment is None:
        return None
    wrong = ValueError(
        f"{_name(workload, 'assignment')}={workload.assignment!r}: expected partitions 0 to "
        f"{workload.partitions - 1}, each with the ids of {workload.replication_factor} different brokers, such as "
        f"{{0: [1, 2, 3]}}, or None"
    )
    try:
        found = {int(partition): tuple(nodes) for partition, nodes in workload.assignment.items()}
    except (AttributeError, TypeError, ValueError):
        raise wrong from None
    if len(found) != len(workload.assignment) or set(found) != set(range(workload.partitions)):
        raise wrong
    for nodes in found.values():
        if any(type(node) is not int or node < 0 for node in nodes):
            raise wrong
        if len(nodes) != workload.replication_factor or len(set(nodes)) < len(nodes):
            raise wrong
    return dict(sorted(found.items()))


def kafka_text(value: object) -> str:
    """As Kafka spells it: true and false are not capitalised."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_numbers(workload: object, what: str, allowed: Mapping[str, tuple[float, float]]) -> None:
    for name, (least, most) in allowed.items():
        value = getattr(workload, name)
        if not _is_number(value) or not least <= value <= most:
            raise ValueError(f"{_name(workload, name)}={value!r}: expected {what}, {least:g} to {most:g}")


def _name(workload: object, field: str) -> str:
    return f"{type(workload).__name__}.{field}"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
