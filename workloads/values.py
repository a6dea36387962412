"""Checks of a workload's values, and what the built-in workloads have in common.

Each check raises ValueError that names the workload, the value and what is expected.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self, TypeGuard

from workloads.clients import library as libraries
from workloads.clients.library import is_library, library, library_names, versioned
from workloads.clients.outcome import Acks
from workloads.load import PHASES, Sizes
from workloads.workload import Layout, Topic, WorkerRole, WorkerSpec, Workload, client_library

MAX_RATE = 100_000
"""Records per second of one producer. A process sends fewer than that; the verdict tells how many were left out."""

MAX_RECORD = 900_000
"""Bytes; Kafka's own default limit of a batch is a little above."""

MAX_SKEW = 5.0


def check_whole_number(where: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{where}={value!r}: expected a whole number, {least} to {most}")


def check_counts(workload: object, **limits: tuple[int, int]) -> None:
    """limits: the least and the most of each of these fields."""
    for name, (least, most) in limits.items():
        check_whole_number(f"{type(workload).__name__}.{name}", getattr(workload, name), least, most)


def check_seconds(where: str, value: object, least: float, most: float) -> None:
    if not is_number(value) or not least <= value <= most:
        raise ValueError(f"{where}={value!r}: expected seconds, {least:g} to {most:g}")


def check_share(where: str, value: object) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{where}={value!r}: expected a share, 0 to 1")


def check_rate(where: str, value: object) -> None:
    """One rate, or rates by phase."""
    if isinstance(value, Mapping):
        if not value or not set(value) <= set(PHASES):
            raise ValueError(
                f"{where}={value!r}: expected records per second by phase, {' or '.join(PHASES)}, such as "
                f"{{'start': 100, 'recovery': 500}}"
            )
        for phase, rate in value.items():
            _check_one_rate(f"{where}[{phase!r}]", rate)
    else:
        _check_one_rate(where, value)


def _check_one_rate(where: str, value: object) -> None:
    if value is not None and not (is_number(value) and 0 < value <= MAX_RATE):
        raise ValueError(
            f"{where}={value!r}: expected records per second above 0, or None for full speed; "
            f"{MAX_RATE:.0f} at most"
        )


def checked_sizes(where: str, sizes: Any) -> Sizes:
    """The sizes with numbers as keys: in JSON, keys are text."""
    wrong = ValueError(
        f"{where}={sizes!r}: expected bytes, 0 to {MAX_RECORD}; or the least and the most, such as (100, 2000); or "
        f"sizes with their weights, such as {{100: 9, 10_000: 1}}"
    )
    weights: list[Any] = [1]
    if isinstance(sizes, Mapping):
        try:
            sizes = {int(size): weight for size, weight in sizes.items()}
        except (TypeError, ValueError):
            raise wrong from None
        found, weights = [*sizes], [*sizes.values()]
    elif isinstance(sizes, (list, tuple)):
        if len(sizes) != 2 or not all(type(size) is int for size in sizes) or sizes[0] > sizes[1]:
            raise wrong
        sizes = tuple(sizes)
        found = [*sizes]
    else:
        found = [sizes]
    if not found or not all(type(size) is int and 0 <= size <= MAX_RECORD for size in found):
        raise wrong
    if not all(is_number(weight) and math.isfinite(weight) and weight > 0 for weight in weights):
        raise wrong
    checked: Sizes = sizes
    return checked


def check_skew(where: str, value: object) -> None:
    if not is_number(value) or not 0 <= value <= MAX_SKEW:
        raise ValueError(
            f"{where}={value!r}: expected 0 for an even load, up to {MAX_SKEW:g}: number n gets 1 / n ** skew"
        )


ACKS: Mapping[tuple[type, object], Acks] = {
    (str, "all"): "all",
    (int, -1): "all",
    (str, "-1"): "all",
    (int, 1): 1,
    (str, "1"): 1,
    (int, 0): 0,
    (str, "0"): 0,
}
"""Every way in which Kafka's own configuration writes it. With types, because True equals 1."""


def read_acks(where: str, value: object) -> Acks:
    """Raises ValueError for what no producer of Kafka takes."""
    try:
        return ACKS[type(value), value]
    except (KeyError, TypeError):
        raise ValueError(f"{where}={value!r}: expected 'all', 1 or 0") from None


def check_choice(where: str, value: object, *choices: str) -> None:
    if value not in choices:
        *most, last = map(repr, choices)
        raise ValueError(f"{where}={value!r}: expected {', '.join(most)} or {last}")


def check_topic_config(where: str, config: Any, replication_factor: int) -> None:
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
    minimum = config.get("min.insync.replicas", 1)
    try:
        allowed = 1 <= int(minimum) <= replication_factor
    except ValueError:
        allowed = False
    if not allowed:
        raise ValueError(
            f"{where}['min.insync.replicas']={minimum!r} with replication_factor={replication_factor}: "
            f"expected 1 to {replication_factor}"
        )


def check_library(where: str, name: Any) -> None:
    if not is_library(name):
        raise ValueError(f"{where}={name!r}: expected one of {', '.join(library_names())}, or command:...")
    libraries.check_library(name)


def check_client(where: str, client: Any, library_name: str) -> None:
    """Settings of the library's producer."""
    if not isinstance(client, Mapping) or not all(isinstance(name, str) for name in client):
        raise ValueError(
            f"{where}={client!r}: expected settings of the library's producer by name, such as {{'linger_ms': 5}}"
        )
    for name, value in client.items():
        try:
            library(library_name).check_producer_setting(name)
        except ValueError as error:
            raise ValueError(f"{where}[{name!r}]: {error}") from None
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where}[{name!r}]={value!r}: expected text, a number, True, False or None, because "
                f"it is sent to another process"
            ) from None


def checked_layout(
    where: str, layout: Mapping[Any, Sequence[int]] | None, *, partitions: int, replication_factor: int
) -> Layout | None:
    """The layout with partitions as numbers: in JSON, keys are text."""
    if layout is None:
        return None
    wrong = ValueError(
        f"{where}={layout!r}: expected partitions 0 to {partitions - 1}, each "
        f"with the ids of {replication_factor} different brokers, such as {{0: [1, 2, 3]}}, or None"
    )
    try:
        found = {int(partition): tuple(nodes) for partition, nodes in layout.items()}
    except (AttributeError, TypeError, ValueError):
        raise wrong from None
    if len(found) != len(layout) or set(found) != set(range(partitions)):
        raise wrong
    for nodes in found.values():
        if any(type(node) is not int or node < 0 for node in nodes):
            raise wrong
        if len(nodes) != replication_factor or len(set(nodes)) < len(nodes):
            raise wrong
    return dict(sorted(found.items()))


def kafka_text(value: object) -> str:
    """As Kafka spells it: true and false are not capitalised."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


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
    """Check them, and `client_version`, `rate` and `record_size` where it has them. Assignment and sizes are brought
    into the form of `Layout` and `Sizes`: in JSON, their keys are text. For a frozen dataclass, while it is made.

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
    try:
        versioned(workload.library, getattr(workload, "client_version", None))
    except ValueError as error:
        raise ValueError(f"{of}.{error}") from None
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


class BuiltIn(Workload):
    """What the built-in workloads do alike, which are frozen dataclasses with the fields of `CommonFields`."""

    def with_layout(self, layout: Layout | None) -> Self:
        return self._changed(assignment=layout)

    def _numbered(self, shapes: Iterable[tuple[WorkerRole, Mapping[str, Any]]]) -> tuple[WorkerSpec, ...]:
        """Worker processes with these roles and options, numbered in this order. The option ``group`` is that of a
        member."""
        return tuple(
            WorkerSpec(
                role=role,
                process=process,
                library=client_library(self),
                options=options,
                group=options.get("group"),
            )
            for process, (role, options) in enumerate(shapes)
        )

    def _with_fewer(self, **least: int) -> Iterator[tuple[str, Self]]:
        """The workload with one of these fields at its least, as `smaller` gives it; without those that are there."""
        for name, number in least.items():
            if getattr(self, name) > number:
                yield f"{number} {name}", self._changed(**{name: number})

    def _changed(self, **fields: Any) -> Self:
        return replace(self, **fields)  # type: ignore[type-var]
