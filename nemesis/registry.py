"""All faults, found in the files of `nemesis.faults`.

Each of these files declares exactly one fault (a dataclass derived from `nemesis.fault.Fault`) and one or more public
functions that return an `Event` of it. Importing this module imports all of them, and nothing but the standard
library.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
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
