"""Experiments as Python source, written with the functions that users write them with."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

from nemesis.event import Event
from nemesis.registry import DECLARATIONS
from nemesis.schedule import Schedule
from nemesis.targets import Groups, Target
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.reference import Reference
from workloads.workload import Workload

WIDTH = 100
STEP = " " * 4

IMPORTED = {
    "Event": "nemesis.event",
    "Reference": "workloads.reference",
    "Trigger": "nemesis.triggers",
    "parse": "nemesis.targets",
}
"""Modules of names that `pytest_kafkacheck` does not export, except fault classes, which name their own module."""


def pytest_file(experiment: Experiment, *, about: str, name: str = "test_minimal") -> str:
    """A pytest file that binds the experiment as EXPERIMENT and asserts that it is valid. about: its docstring."""
    writer = _Writer()
    value = writer.experiment(experiment)
    text = about.strip().replace("\\", "\\\\").replace('"""', "'''")
    return (
        f'"""{text}\n"""\n\n{writer.imports()}\n{writer.loads()}\nEXPERIMENT = {value}\n\n\n'
        f"def {name}(kafkacheck):\n{STEP}kafkacheck(EXPERIMENT).assert_valid()\n"
    )


class _Writer:
    """Writes values, and keeps the names that they need: imported ones, and classes loaded from files of users."""

    def __init__(self) -> None:
        self._homes: dict[str, str] = {}
        self._loaded: dict[str, Reference] = {}

    def experiment(self, experiment: Experiment) -> str:
        workload = f"workload={self._workload(experiment.workload)}"
        arguments = [workload, *self._arguments(experiment, skip={"faults", "workload"})]
        faults = experiment.schedule.events
        if faults:
            arguments.insert(1, f"faults={_folded('[', self._events(faults), ']', 1, split=len(faults) > 1)}")
        return _folded(self._name("Experiment") + "(", arguments, ")", 0)

    def imports(self) -> str:
        homes: dict[str, list[str]] = {}
        for name, home in self._homes.items():
            homes.setdefault(home, []).append(name)
        lines = (
            _folded(f"from {home} import (", sorted(names), ")", 0)
            if len(f"from {home} import {', '.join(sorted(names))}") > WIDTH
            else f"from {home} import {', '.join(sorted(names))}"
            for home, names in sorted(homes.items())
        )
        return "\n".join(lines)

    def loads(self) -> str:
        """Lines that load classes which no import finds."""
        lines = (
            _folded(
                f"{name} = Reference(",
                [f"{key}={_literal(value)}" for key, value in reference.to_json().items()],
                ").load()",
                0,
            )
            for name, reference in self._loaded.items()
        )
        return "".join(f"\n{line}\n" for line in lines)

    def _workload(self, workload: Workload) -> str:
        reference = Reference.to(type(workload))
        name = type(workload).__name__
        if reference.file is None:
            self._name(name)
        else:
            self._name("Reference")
            self._loaded[name] = reference
        if not dataclasses.is_dataclass(workload):
            return f"{name}.from_json({_literal(workload.to_json())})"
        return _folded(f"{name}(", self._arguments(workload), ")", 1)

    def _name(self, name: str, home: str | None = None) -> str:
        """The name, which the file will import. home: its module, if `pytest_kafkacheck` does not export it."""
        self._homes[name] = home or IMPORTED.get(name, "pytest_kafkacheck")
        return name

    def _events(self, events: Sequence[Event]) -> list[str]:
        given = Schedule.of(dataclasses.replace(event, id="") for event in events).events
        lines = []
        for event, unnamed in zip(events, given, strict=True):
            text = self._event(event)
            # Random choices depend on the id.
            lines.append(text if event.id == unnamed.id else f"{text}.named({_literal(event.id)})")
        return lines

    def _event(self, event: Event) -> str:
        full = {
            each.name: getattr(event.fault, each.name)
            for each in dataclasses.fields(event.fault)  # type: ignore[arg-type]
        }
        functions = DECLARATIONS[event.fault.name].functions
        for (name, function), options in product(functions.items(), (event.fault.options(), full)):
            positional, named = _call(function, event, options)
            try:
                made = function(*positional, **named)
            except (TypeError, ValueError):
                continue
            if made.named(event.id) == event:
                self._name(name)
                return _folded(f"{name}(", [*map(_literal, positional), *_named(named)], ")", 2)
        return self._plain_event(event)

    def _plain_event(self, event: Event) -> str:
        fault = self._name(type(event.fault).__name__, type(event.fault).__module__)
        options = _named(event.fault.options())
        target = f"{self._name('parse')}({_literal(_target(event.target))})"
        arguments = [f"fault={fault}({', '.join(options)})", f"target={target}"]
        arguments += [
            f"{key}={_literal(getattr(event, key))}" for key in ("at", "lasting") if getattr(event, key)
        ]
        if event.after is not None:
            arguments.append(f"after={self._name('Trigger')}.parse({_literal(str(event.after))})")
        return _folded(self._name("Event") + "(", arguments, ")", 2)

    def _arguments(self, value: Any, *, skip: Collection[str] = ()) -> list[str]:
        """Keyword arguments of a dataclass, without those that have their default."""
        lines = []
        for field in dataclasses.fields(value):
            given = getattr(value, field.name)
            if field.name in skip or given == _default(field):
                continue
            if dataclasses.is_dataclass(given):
                text = _folded(self._name(type(given).__name__) + "(", self._arguments(given), ")", 1)
            else:
                text = _literal(given)
            lines.append(f"{field.name}={text}")
        return lines


def _call(function: Any, event: Event, options: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of a public function of a fault."""
    values = {"target": _target(event.target), **options}
    if "split" in inspect.signature(function).parameters:
        values["split"] = values.pop("target")
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("at", "lasting", "after"):
            continue
        if name not in values or values[name] == parameter.default:
            continue
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            positional.append(values[name])
        else:
            named[name] = values[name]
    when: dict[str, Any] = {}
    if event.at:
        when["at"] = event.at
    if not event.fault.momentary:
        when["lasting"] = event.lasting
    if event.after is not None:
        when["after"] = str(event.after)
    return positional, when | named


def _target(target: Target | Groups) -> str | int | list[list[int]]:
    if isinstance(target, Groups):
        return target.to_json()
    return target.nodes[0] if target.kind == "node" and len(target.nodes) == 1 else str(target)


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _named(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_literal(value)}" for name, value in values.items()]


def _literal(value: Any) -> str:
    """As a formatter leaves it: with double quotes, and whole numbers without a fraction."""
    match value:
        case str():
            text = repr(value)
            return text if '"' in value or "\\" in text else f'"{value}"'
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case Mapping():
            return "{" + ", ".join(f"{_literal(key)}: {_literal(each)}" for key, each in value.items()) + "}"
        case tuple():
            return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
        case list() | frozenset() | set():
            return f"[{', '.join(map(_literal, sorted(value) if not isinstance(value, list) else value))}]"
    return repr(value)


def _folded(begin: str, parts: Sequence[str], end: str, depth: int, *, split: bool = False) -> str:
    """In one line where it is short enough and not to be split, else with one part per line."""
    line = f"{begin}{', '.join(parts)}{end}"
    if not split and "\n" not in line and len(line) + depth * len(STEP) + 12 <= WIDTH:
        return line
    indent = STEP * (depth + 1)
    return f"{begin}\n" + "".join(f"{indent}{part},\n" for part in parts) + f"{STEP * depth}{end}"
