"""All faults, found in the files of `nemesis.faults`.

Each of these files declares exactly one fault (a dataclass derived from `nemesis.fault.Fault`) and one or more public
functions that return an `Event` of it. Importing this module imports all of them, and nothing but the standard
library.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from types import ModuleType

import nemesis.faults
from nemesis.event import Event
from nemesis.fault import FAMILIES, Fault

Function = Callable[..., Event]


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One file of `nemesis.faults`. functions: by name, in the order in which the file defines them."""

    fault: type[Fault]
    functions: Mapping[str, Function]


def declaration(module: ModuleType) -> Declaration:
    """What a module declares. Raises TypeError, with what to change, where that is incomplete or ambiguous."""
    own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    faults = [value for value in own if _is_fault(value)]
    functions = {value.__name__: value for value in own if _is_public_function(value)}
    if len(faults) != 1 or not functions:
        raise TypeError(
            f"{module.__name__} declares {len(faults)} faults and {len(functions)} functions; expected exactly one "
            f"dataclass derived from Fault, and one or more public functions with the return type Event"
        )
    (fault,) = faults
    for name in ("name", "family", "proved_by"):
        if not isinstance(getattr(fault, name, None), str):
            raise TypeError(f"{module.__name__}: {fault.__name__} has no class attribute {name!r}")
    if fault.family not in FAMILIES:
        raise TypeError(f"{module.__name__}: family {fault.family!r}; allowed are {', '.join(FAMILIES)}")
    if not fault.momentary and not fault.end_proved_by:
        raise TypeError(f"{module.__name__}: {fault.__name__} is not momentary, and has no end_proved_by")
    return Declaration(fault=fault, functions=functions)


def _is_fault(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Fault) and is_dataclass(value)


def _is_public_function(value: object) -> bool:
    # Annotations are text, because each of these modules postpones their evaluation.
    return (
        inspect.isfunction(value)
        and not value.__name__.startswith("_")
        and value.__annotations__.get("return") in ("Event", Event)
    )


def _found() -> Iterator[Declaration]:
    for each in pkgutil.iter_modules(nemesis.faults.__path__):
        yield declaration(import_module(f"{nemesis.faults.__name__}.{each.name}"))


def _by_name() -> dict[str, Declaration]:
    order = list(FAMILIES)
    found = sorted(_found(), key=lambda each: (order.index(each.fault.family), each.fault.name))
    by_name = {each.fault.name: each for each in found}
    if len(by_name) < len(found):
        names = [each.fault.name for each in found]
        raise TypeError(f"two faults have the same name: {sorted({n for n in names if names.count(n) > 1})}")
    return by_name


DECLARATIONS: Mapping[str, Declaration] = _by_name()
"""By the name that the fault has in schedules, ordered by family and name."""

FAULTS: Mapping[str, type[Fault]] = {name: each.fault for name, each in DECLARATIONS.items()}
"""By the name that they have in schedules."""

FUNCTIONS: Mapping[str, Function] = {
    name: function for each in DECLARATIONS.values() for name, function in each.functions.items()
}
"""The public functions, such as ``kill`` and ``majority_ring``, by name."""


CAPABILITIES: dict[str, str] = {
    "nft": "rules of nftables in a container's network",
    "tbf": "a token bucket (the kernel module sch_tbf) at a container's network interface",
    "netem": "network emulation (the kernel module sch_netem) at a container's network interface",
    "disks": "loop devices, on which nodes get file systems of their own",
    "throttle": "a limit of a control group on its writes to a block device (blkio.throttle, or io.max)",
    "clock": "access to another process's memory (the capability SYS_PTRACE) on x86-64",
    "limits": "changes of a container's limits while it runs",
    "freezer": "the freezer of control groups",
    "packets": "control groups of version 2 on this host, and a BPF program that sees their packets",
    "cpu": "the controller cpu of control groups on this host",
    "memory": "the controller memory of control groups on this host",
}
"""What each name in `Fault.needs` and `Fault.prefers` means."""


OF_APPLICATIONS = frozenset({"packets", "cpu", "memory"})
"""Those of this host, on which clients and a user's application run, and not of the engine's."""


def faults_that_need(capability: str) -> tuple[str, ...]:
    """Sorted names of the faults that are impossible without it."""
    return tuple(sorted(name for name, fault in FAULTS.items() if capability in fault.needs))


def faults_that_prefer(capability: str) -> tuple[str, ...]:
    """Sorted names of the faults that are carried out in another way without it."""
    return tuple(sorted(name for name, fault in FAULTS.items() if capability in fault.prefers))


def faults_without_needs() -> tuple[str, ...]:
    """Sorted names of the faults that every host can carry out."""
    return tuple(sorted(name for name, fault in FAULTS.items() if not fault.needs | fault.prefers))


def lacking(faults: Iterable[str], able: Mapping[str, str | None]) -> dict[str, str]:
    """The faults that are impossible on a host, each with the reason.

    able  for each capability the reason why the host lacks it, or None where the host has it.
    """
    missing = {}
    for fault in dict.fromkeys(faults):
        for need in sorted(FAULTS[fault].needs):
            if (reason := able.get(need)) is not None:
                missing[fault] = f"it needs {CAPABILITIES[need]}: {reason}"
    return missing
