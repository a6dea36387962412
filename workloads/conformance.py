"""Whether an object is a workload that every part of a run can use, checked before anything starts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workloads.clients.library import check_library, is_library, library_names
from workloads.reference import Reference
from workloads.workload import Topic, WorkerRole, WorkerSpec, Workload, short_topics

MEMBERS = tuple(name for name in vars(Workload) if not name.startswith("_") and name != "declaration")
"""What a workload has to define or to inherit. Its declaration is read only by what it inherits."""

ROLES_OF_THE_HARNESS = ("final",)


def check_workload(workload: Any) -> None:
    """Raises ValueError that names the class, what is missing or wrong, and what is expected."""
    kind = type(workload).__name__
    if missing := [name for name in MEMBERS if not hasattr(type(workload), name)]:
        raise ValueError(
            f"{kind} does not define {', '.join(missing)}; inherit from pytest_kafkacheck.Workload to get defaults "
            f"for all but topics and workers"
        )
    for check in (_check_topics, _check_aliases, _check_workers, _check_properties, _check_json):
        try:
            check(workload, kind)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(f"{kind}: {type(error).__name__}: {error}") from error


def _check_topics(workload: Workload, kind: str) -> None:
    topics = _sequence(f"{kind}.topics", workload.topics("a1"), Topic)
    names = [topic.name for topic in topics]
    other = [topic.name for topic in workload.topics("b2")]
    if len(set(names) | set(other)) < len(names) + len(other):
        raise ValueError(
            f"{kind}.topics gave the names {', '.join(names)} for run 'a1' and {', '.join(other)} for run 'b2': "
            f'expected different ones; put the run into each name, as in f"log-{{run}}"'
        )
    if (main := workload.main_topic("a1")) not in names:
        raise ValueError(f"{kind}.main_topic gave {main!r}: expected one of {', '.join(names)}")
    short_topics(workload, "a1")


def _check_aliases(workload: Workload, kind: str) -> None:
    aliases: Any = workload.aliases("a1")
    names = [*aliases, *aliases.values()] if isinstance(aliases, Mapping) else [None]
    if not all(isinstance(name, str) and name and not any(map(str.isspace, name)) for name in names):
        raise ValueError(
            f"{kind}.aliases={aliases!r}: expected short names of groups with their names in the run, without "
            f'spaces, such as {{"orders": f"orders-{{run}}"}}'
        )


def _check_workers(workload: Workload, kind: str) -> None:
    workers = _sequence(f"{kind}.workers", workload.workers(), WorkerSpec)
    if (numbers := [worker.process for worker in workers]) != list(range(len(workers))):
        raise ValueError(
            f"{kind}.workers gave the processes {numbers}: expected 0 to {len(workers) - 1} in order"
        )
    for worker in workers:
        if not isinstance(worker.role, WorkerRole):
            raise ValueError(
                f"{kind}.workers: process {worker.process} has role={worker.role!r}; expected a "
                f'WorkerRole("name", function)'
            )
        where = f"{kind}.workers: role {worker.role.name!r}"
        if worker.role.name in ROLES_OF_THE_HARNESS:
            raise ValueError(f"{where}: this name belongs to the final reads; choose another")
        if not is_library(worker.library):
            raise ValueError(
                f"{where}: no client library {worker.library!r}; there are {', '.join(library_names())}, and "
                f"command:..."
            )
        check_library(worker.library)
        if worker.group is not None and worker.group not in workload.aliases("a1"):
            raise ValueError(
                f"{where}: process {worker.process} has group={worker.group!r}; expected a short name of "
                f"{kind}.aliases, or None"
            )
        try:
            json.dumps(dict(worker.options), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{where}: its options cannot be sent to another process as JSON: {error}"
            ) from None
        try:
            _check_function(worker.role)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


def _check_function(role: WorkerRole) -> None:
    if not callable(role.function) and not isinstance(role.function, str):
        raise ValueError(f"expected a function or 'module:name', got {role.function!r}")
    reference = role.reference
    # A function is there already. Modules of this package load kafka-python, which takes longer than all checks.
    if isinstance(role.function, str) and not reference.is_ours and not callable(reference.load()):
        raise ValueError(f"{reference} is not a function")


def _check_properties(workload: Workload, kind: str) -> None:
    for name, wanted in (
        ("load_counter", str),
        ("acknowledges", bool),
        ("has_groups", bool),
        ("library", str),
    ):
        if not isinstance(value := getattr(workload, name), wanted):
            raise ValueError(
                f"{kind}.{name}={value!r}: expected {'text' if wanted is str else 'True or False'}"
            )
    if not is_library(workload.library):
        raise ValueError(
            f"{kind}.library={workload.library!r}: no such client library; there are "
            f"{', '.join(library_names())}, and command:..."
        )
    check_library(workload.library)
    allowed: Any = workload.allowed
    if not isinstance(allowed, (set, frozenset)) or not all(isinstance(each, str) for each in allowed):
        raise ValueError(f"{kind}.allowed={allowed!r}: expected a set of names of anomalies")
    requires: Any = workload.requires
    if not isinstance(requires, (set, frozenset)) or not all(isinstance(each, str) for each in requires):
        raise ValueError(f"{kind}.requires={requires!r}: expected a set of names of promises")
    roles = {worker.role.name for worker in workload.workers()}
    order: Any = workload.stop_order
    stages = [*order] if isinstance(order, (tuple, list)) else [None]
    if any(not isinstance(stage, (tuple, list)) or not roles.issuperset(stage) for stage in stages):
        raise ValueError(
            f"{kind}.stop_order={order!r}: expected stages, each a tuple of names of its roles "
            f"({', '.join(sorted(roles))}), such as (('{min(roles)}',),)"
        )


def _check_json(workload: Any, kind: str) -> None:
    try:
        Reference.to(type(workload))
    except ValueError as error:
        raise ValueError(f"{kind} cannot be loaded again from experiment.json: {error}") from None
    try:
        data = workload.to_json()
        text = json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind}.to_json gave no JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{kind}.to_json gave {data!r}: expected a dictionary")
    try:
        again = type(workload).from_json(json.loads(text))
        same = json.dumps(again.to_json(), sort_keys=True) == json.dumps(data, sort_keys=True)
    except Exception as error:
        raise ValueError(
            f"{kind}.from_json does not take back what to_json gave, {text}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(again, type(workload)) or not same:
        raise ValueError(
            f"{kind}.from_json made {again!r} from the JSON of {workload!r}: expected an equal workload"
        )


def _sequence(what: str, value: Any, kind: type) -> Sequence[Any]:
    if not isinstance(value, (tuple, list)) or not value or not all(isinstance(each, kind) for each in value):
        raise ValueError(f"{what} gave {value!r}: expected one or more {kind.__name__} in a tuple")
    return value
