"""The fault events of a run, joined from the operations of the nemesis."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

Window = tuple[int, int]
"""Begin and end, ns."""

LATE = 500_000_000
"""ns by which an injection or a heal may begin after its time without a note in the verdict."""

RECREATE = "recreate-topic"
"""The fault after which a topic of the same name has other logs."""


OF_APPLICATIONS: Mapping[str, str] = {
    "kill-client": "kill",
    "pause-client": "pause",
    "stop-client": "stop",
    "isolate-app": "isolate",
    "cpu-app": "cpu",
    "memory-app": "memory",
}
"""By fault of clients, its name where it acts on a user's application: that of the function in the schedule."""

REASONS = ("unresolved", "skipped", "trigger", "seen_instead", "proof", "nothing", "ended_early")
"""Texts of the evidence of a fault that say why it had no effect."""

GIVEN_UP = ("unresolved", "skipped", "seen_instead")
"""Those of one that was not injected at all."""

_INSTANCE = re.compile(r"\S+:\d+")


class Row(Protocol):
    """An operation of the nemesis. Times in ns."""

    op: int
    f: str
    invoked: int
    completed: int | None
    value: str


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The injection or the healing of a fault. Times in ns."""

    invoked: int
    completed: int | None
    effective: bool
    target: str
    nodes: tuple[int, ...]
    processes: tuple[int, ...] = ()
    """Of the clients that the fault affects; empty for a fault on nodes."""
    possibly: Window | None = None
    surely: Window | None = None
    """Only of healing: when the fault may have been active, and when it certainly was."""
    had_effect: bool = False
    """Only of healing: whether it showed that the injection had its effect, whose verification had not ended."""
    planned: int | None = None
    """When it was due. None also for a history of an earlier version, which did not record it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the fault, as in the schedule. Empty also for a history of an earlier version, which did not record them."""
    aimed_at: str | None = None
    """Only of an injection: the instance of an application that was seen at the moment for which the fault waited."""
    reason: str = ""
    """Of what its evidence says in words, why it had no effect, if it had none."""
    given_up: bool = False
    """Only of an injection: whether there was none, as for a fault whose trigger did not come."""


@dataclass(frozen=True, kw_only=True)
class FaultEvent:
    """One event of the schedule. A stage that was not recorded is None."""

    event: str
    fault: str
    inject: Stage | None
    heal: Stage | None
    clients: tuple[str, ...] = ()
    """Names of the client processes on which it acts; empty where their roles are not recorded."""

    @property
    def _first(self) -> Stage | None:
        return self.inject or self.heal

    @property
    def target(self) -> str:
        return self._first.target if self._first else ""

    @property
    def nodes(self) -> tuple[int, ...]:
        return self._first.nodes if self._first else ()

    @property
    def processes(self) -> tuple[int, ...]:
        return self._first.processes if self._first else ()

    @property
    def options(self) -> Mapping[str, Any]:
        return self._first.options if self._first else {}

    @property
    def aimed_at(self) -> str | None:
        """The instance of an application at whose moment it was injected, such as ``app:0``."""
        return None if self.inject is None else self.inject.aimed_at

    @property
    def took_effect(self) -> bool:
        """Whether the effect was proved: when injected, or by what was counted until the heal."""
        return self.inject is not None and (
            self.inject.effective or (self.heal is not None and self.heal.had_effect)
        )

    @property
    def began(self) -> int | None:
        return self.inject.invoked if self.inject else None

    @property
    def ended(self) -> int | None:
        return self.heal.completed if self.heal else None

    def active(self, time: int) -> bool:
        """Whether the fault may have been active: from the start of its injection to the end of its healing."""
        return self.active_between(time, time)

    def active_between(self, first: int, last: int) -> bool:
        """Whether `active` at any time from the first to the last one."""
        if self.inject is None or self.inject.given_up:
            return False
        return self.inject.invoked <= last and (self.ended is None or first <= self.ended)

    def surely_active(self, time: int) -> bool:
        """Whether the fault was certainly active."""
        window = self.heal.surely if self.heal else None
        return window is not None and window[0] <= time <= window[1]

    def name(self) -> str:
        """For messages, such as ``kill leader of t-0 (nodes 2)`` and ``kill app:0``."""
        return f"{self.short_name()}{affected(self.nodes, self.processes, self.clients, self.target)}"

    def short_name(self) -> str:
        """As in the schedule, such as ``kill leader`` and ``kill app``."""
        return f"{spoken(self.fault, self.clients)} {self.target}"

    def doubts(self) -> Iterator[str]:
        """Reasons why it does not count as exercised, one sentence each."""
        what = f"The fault {self.short_name()} ({self.event})"
        if self.inject is None:
            yield f"{what} has no record of its injection."
        elif not self.took_effect:
            why = f": {self.inject.reason}" if self.inject.reason else ""
            yield f"{what} did not take effect when injected, so it was not exercised{why}."
        if self.heal is None:
            yield f"{what} has no record of its healing: the cluster may not have recovered."
        elif not self.heal.effective:
            yield f"{what} was not verified as healed: the cluster may not have recovered."


def lateness(events: Iterable[FaultEvent]) -> Iterator[str]:
    """A sentence for each injection and each heal that began more than `LATE` after its time."""
    for event in events:
        for what, stage in (("injected", event.inject), ("healed", event.heal)):
            if stage is None or stage.planned is None or stage.invoked - stage.planned <= LATE:
                continue
            late = (stage.invoked - stage.planned) / 1e9
            yield f"The fault {event.short_name()} ({event.event}) was {what} {late:.1f} s after its time."


def fault_events(rows: Iterable[Row], clients: Mapping[int, str] | None = None) -> tuple[FaultEvent, ...]:
    """Join the operations of the nemesis, which are given in order of time.

    clients  names of client processes, by number.

    Raises ValueError, naming the operation, for a value that does not follow the schema.
    """
    stages: dict[str, dict[str, Stage]] = {}
    faults: dict[str, str] = {}
    for row in rows:
        event, stage, name = parse(row)
        faults.setdefault(event, row.f)
        stages.setdefault(event, {}).setdefault(name, stage)
    events = (
        FaultEvent(event=event, fault=faults[event], inject=by_name.get("inject"), heal=by_name.get("heal"))
        for event, by_name in stages.items()
    )
    return tuple(replace(event, clients=_names(event.processes, clients or {})) for event in events)


def _names(processes: Sequence[int], clients: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(clients[each] for each in processes) if {*processes} <= clients.keys() else ()


def faults_between(events: Sequence[FaultEvent], since: int | None, time: int | None) -> tuple[str, ...]:
    """The names of the faults that may have been active at any time between these, or at the known one of them; none
    where both are unknown."""
    known = [moment for moment in (since, time) if moment is not None]
    return tuple(event.name() for event in events if known and event.active_between(min(known), max(known)))


def parse(row: Row) -> tuple[str, Stage, str]:
    """The id of the event, the stage, and its name: ``inject`` or ``heal``.

    Raises ValueError, naming the operation, for a value that does not follow the schema.
    """
    try:
        value: dict[str, Any] = json.loads(row.value)
        event, name = value["event"], value["stage"]
        if name not in ("inject", "heal"):
            raise ValueError(f"stage: expected inject or heal, got {name!r}")
        active = value.get("active", {})
        stage = Stage(
            invoked=row.invoked,
            completed=row.completed,
            effective=value["effective"] is True,
            target=_text(value["target"]),
            nodes=_numbers("nodes", value["nodes"]),
            processes=_numbers("processes", value.get("processes", [])),
            possibly=_window("possibly", active.get("possibly")),
            surely=_window("surely", active.get("surely")),
            had_effect=value.get("had_effect") is True,
            planned=_optional_number("planned", value.get("planned")),
            options=dict(value.get("options", {})),
            aimed_at=_instance(value.get("evidence")),
            reason=_reason(value.get("evidence")),
            given_up=_was_given_up(value.get("evidence")),
        )
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(
            f"operation {row.op} of the nemesis ({row.f}): its value {row.value!r} does not follow the "
            f"schema of the history ({type(error).__name__}: {error})"
        ) from error
    return _text(event), stage, name


def _numbers(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(number) is int for number in value):
        raise TypeError(f"{name}: expected a list of numbers, got {value!r}")
    return tuple(value)


def _instance(evidence: object) -> str | None:
    met = evidence.get("met") if isinstance(evidence, Mapping) else None
    instance = met.get("instance") if isinstance(met, Mapping) else None
    return instance if isinstance(instance, str) else None


def _reason(evidence: object) -> str:
    said = evidence if isinstance(evidence, Mapping) else {}
    return "; ".join(said[name] for name in REASONS if isinstance(said.get(name), str))


def _was_given_up(evidence: object) -> bool:
    return isinstance(evidence, Mapping) and any(name in evidence for name in GIVEN_UP)


def _optional_number(name: str, value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError(f"{name}: expected a number, got {value!r}")
    return value


def _window(name: str, value: object) -> Window | None:
    if value is None:
        return None
    numbers = _numbers(name, value)
    if len(numbers) != 2:
        raise TypeError(f"{name}: expected a list of begin and end, got {value!r}")
    return numbers[0], numbers[1]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def spoken(fault: str, clients: Sequence[str]) -> str:
    """The name of a fault as the schedule has it: ``kill`` for kill-client of an application. clients: names of those
    on which it acts."""
    is_of_application = bool(clients) and all(_INSTANCE.fullmatch(each) for each in clients)
    return OF_APPLICATIONS.get(fault, fault) if is_of_application else fault


def affected(
    nodes: Sequence[int], processes: Sequence[int], clients: Sequence[str] = (), target: str = ""
) -> str:
    """What a fault affected, for messages: `` (nodes 1, 3)``, `` (app:0, app:1)``; empty if it affected no node and
    no client, or the one that its target names already."""
    if nodes:
        return f" (nodes {', '.join(map(str, nodes))})"
    if clients:
        return "" if tuple(clients) == (target,) else f" ({', '.join(clients)})"
    return f" (clients {', '.join(map(str, processes))})" if processes else ""
