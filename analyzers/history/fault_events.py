"""The fault events of a run, joined from what the nemesis recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Window = tuple[int, int]
"""From when to when, ns."""


class Row(Protocol):
    """An operation of the nemesis. Times in ns."""

    op: int
    f: str
    invoked: int
    completed: int | None
    value: str


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Injecting or healing. Times in ns."""

    invoked: int
    completed: int | None
    effective: bool
    target: str
    nodes: tuple[int, ...]
    processes: tuple[int, ...] = ()
    """Of clients, where these are struck."""
    possibly: Window | None = None
    surely: Window | None = None
    """Healing tells when the fault may have been at work, and when it certainly was."""


@dataclass(frozen=True, kw_only=True)
class FaultEvent:
    event: str
    fault: str
    inject: Stage | None
    heal: Stage | None

    @property
    def target(self) -> str:
        return next((stage.target for stage in (self.inject, self.heal) if stage), "")

    @property
    def nodes(self) -> tuple[int, ...]:
        return next((stage.nodes for stage in (self.inject, self.heal) if stage), ())

    @property
    def processes(self) -> tuple[int, ...]:
        return next((stage.processes for stage in (self.inject, self.heal) if stage), ())

    @property
    def began(self) -> int | None:
        return self.inject.invoked if self.inject else None

    @property
    def ended(self) -> int | None:
        return self.heal.completed if self.heal else None

    def active(self, time: int) -> bool:
        """Whether it may have been at work then: from before it was injected until it was surely healed."""
        return self.began is not None and self.began <= time and (self.ended is None or time <= self.ended)

    def surely_active(self, time: int) -> bool:
        window = self.heal.surely if self.heal else None
        return window is not None and window[0] <= time <= window[1]

    def name(self) -> str:
        return f"{self.fault} {self.target}{affected(self.nodes, self.processes)}"

    def doubts(self) -> Iterator[str]:
        """Why it does not count as exercised, a sentence each."""
        what = f"The fault {self.fault} {self.target} ({self.event})"
        if self.inject is None:
            yield f"{what} has no record of its injection."
        elif not self.inject.effective:
            yield f"{what} did not take effect when injected: what it was to provoke was not exercised."
        if self.heal is None:
            yield f"{what} has no record of its healing: the cluster may not have recovered."
        elif not self.heal.effective:
            yield f"{what} could not be healed for certain: the cluster may not have recovered."


def fault_events(rows: Iterable[Row]) -> tuple[FaultEvent, ...]:
    """By the nemesis' operations (op, f, invoked, completed, value), in the order of their beginning.

    Raises ValueError, naming the operation, for a value that is not what the schema says.
    """
    stages: dict[str, dict[str, Stage]] = {}
    faults: dict[str, str] = {}
    for row in rows:
        event, stage, what = parse(row)
        faults.setdefault(event, row.f)
        stages.setdefault(event, {}).setdefault(what, stage)
    return tuple(
        FaultEvent(event=event, fault=faults[event], inject=of.get("inject"), heal=of.get("heal"))
        for event, of in stages.items()
    )


def faults_at(events: Sequence[FaultEvent], time: int | None) -> tuple[str, ...]:
    return tuple(event.name() for event in events if time is not None and event.active(time))


def parse(row: Row) -> tuple[str, Stage, str]:
    """The id of the event, and of it ``inject`` or ``heal``.

    Raises ValueError, naming the operation, for a value that is not what the schema says.
    """
    try:
        value: dict[str, Any] = json.loads(row.value)
        event, what = value["event"], value["stage"]
        if what not in ("inject", "heal"):
            raise ValueError(f"stage: expected inject or heal, got {what!r}")
        active = value.get("active", {})
        stage = Stage(
            invoked=row.invoked,
            completed=row.completed,
            effective=value["effective"] is True,
            target=_word(value["target"]),
            nodes=_numbers("nodes", value["nodes"]),
            processes=_numbers("processes", value.get("processes", [])),
            possibly=_window("possibly", active.get("possibly")),
            surely=_window("surely", active.get("surely")),
        )
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(
            f"operation {row.op} of the nemesis ({row.f}): its value {row.value!r} is not as the history's "
            f"schema says ({type(error).__name__}: {error})"
        ) from error
    return _word(event), stage, what


def _numbers(name: str, told: object) -> tuple[int, ...]:
    if not isinstance(told, list) or not all(type(number) is int for number in told):
        raise TypeError(f"{name}: expected a list of numbers, got {told!r}")
    return tuple(told)


def _window(name: str, told: object) -> Window | None:
    if told is None:
        return None
    numbers = _numbers(name, told)
    if len(numbers) != 2:
        raise TypeError(f"{name}: expected when it began and when it ended, got {told!r}")
    return numbers[0], numbers[1]


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def affected(nodes: Sequence[int], processes: Sequence[int]) -> str:
    """The ids that a fault affected, for messages: `` (nodes 1, 3)``; empty if it affected no node and no client."""
    for what, ids in (("nodes", nodes), ("clients", processes)):
        if ids:
            return f" ({what} {', '.join(map(str, ids))})"
    return ""
