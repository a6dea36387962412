"""Workloads in experiment.json: written with the place of their class, and made again by any process.

A built-in workload is ``{"type": "AppendLog", ...its values}``. One of the user is ``{"type": "Counter", "module":
"test_counter", "file": "/tests/test_counter.py", "values": {...}, "judging": {"allowed": [...], "requires":
[...]}}``. Judging a run needs ``judging`` only, and not the file.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import workloads
from workloads.reference import NotLoadable, Reference
from workloads.workload import Workload

PRODUCER_SETTINGS = {"acks": "acks", "idempotence": "enable.idempotence"}
"""Option of a worker to setting of a producer."""


@cache
def built_in() -> Mapping[str, type[Workload]]:
    """The workloads of this package by name: those that a module directly below ``workloads`` defines."""
    found: dict[str, type[Workload]] = {}
    for module in pkgutil.iter_modules(workloads.__path__, "workloads."):
        if module.ispkg:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            is_workload = inspect.isclass(value) and Workload in value.__mro__[1:]
            if is_workload and value.__module__ == module.name and not inspect.isabstract(value):
                found[name] = value
    return found


def to_json(workload: Workload) -> dict[str, Any]:
    place = Reference.to(type(workload))
    if place.file is None:
        return {"type": place.name, **workload.to_json()}
    return {
        "type": place.name,
        "module": place.module,
        "file": place.file,
        "values": workload.to_json(),
        "judging": Judging.of(workload).to_json(),
    }


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What judging a run needs of its workload.

    allowed   names of anomalies that the workload does not promise to prevent.
    requires  names of the promises that a run has to exercise.
    settings  of its producers, as Kafka spells them.
    """

    allowed: frozenset[str] = frozenset()
    requires: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, workload: Workload) -> Judging:
        return cls(
            allowed=frozenset(workload.allowed),
            requires=frozenset(workload.requires),
            settings=producer_settings(workload),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "allowed": sorted(self.allowed),
            "requires": sorted(self.requires),
            "settings": dict(sorted(self.settings.items())),
        }


def producer_settings(workload: Workload) -> dict[str, str]:
    """Those that all workers with them have in common, as Kafka spells them. None for an application of the user:
    its own are not known, and those of the worker that feeds it are others."""
    values: dict[str, set[str]] = {}
    workers = workload.workers()
    if any(worker.instance is not None for worker in workers):
        return {}
    for worker in workers:
        for option, name in PRODUCER_SETTINGS.items():
            if option in worker.options:
                values.setdefault(name, set()).add(str(worker.options[option]).lower())
    return {name: value for name, (value, *others) in values.items() if not others}


def stored_judging(data: Any) -> Judging | None:
    """From the JSON of a workload. Raises ValueError for other values than `to_json` writes.

    None where the workload itself has to be loaded for it: a built-in one, or one that an earlier version stored.
    """
    if not isinstance(data, Mapping) or "file" not in data or "judging" not in data:
        return None
    judging = data["judging"]
    lists: list[Any] = [None, None]
    if isinstance(judging, Mapping):
        lists = [judging.get("allowed"), judging.get("requires", [])]
    if not all(isinstance(names, list) and all(isinstance(each, str) for each in names) for names in lists):
        raise ValueError(
            f"workload {data.get('type')!r}: judging {judging!r}: expected names of allowed anomalies, and of "
            f"required promises"
        )
    allowed, requires = lists
    settings = judging.get("settings", {})
    if not isinstance(settings, Mapping):
        raise ValueError(f"workload {data.get('type')!r}: settings {settings!r}: expected settings by name")
    known = {str(name): str(value) for name, value in settings.items()}
    return Judging(allowed=frozenset(allowed), requires=frozenset(requires), settings=known)


def from_json(data: Any) -> Workload:
    """Raises ValueError that names what cannot be loaded, is missing or wrong."""
    if not isinstance(data, Mapping) or "type" not in data:
        raise ValueError(f"workload {data!r}: expected an object with the type of a workload")
    values = dict(data)
    name = values.pop("type")
    if "file" not in values:
        if name not in (*built_in(),):
            raise ValueError(f"workload type {name!r}: expected one of {', '.join(built_in())}")
        return _made(built_in()[name], values)
    try:
        place = Reference(module=str(values["module"]), name=str(name), file=str(values["file"]))
        kind = place.load()
    except KeyError as error:
        raise ValueError(
            f"workload {name!r} of {values['file']}: without {error}, which to_json writes"
        ) from None
    except NotLoadable as error:
        judged = "; without it, runs can be judged, but not run again" if "judging" in values else ""
        raise ValueError(f"workload {name!r} cannot be loaded: {error}{judged}") from error
    if not inspect.isclass(kind) or not hasattr(kind, "from_json"):
        raise ValueError(f"workload {place}: expected a class that inherits from Workload, or has from_json")
    return _made(kind, values.get("values", {}))


def _made(kind: Any, values: Any) -> Workload:
    try:
        made: Workload = kind.from_json(values)
    except TypeError as error:
        raise ValueError(f"workload {kind.__name__}: {error}") from error
    return made
