"""Mutants of modules: their source text with one piece replaced."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any


def mutated(module: ModuleType, old: str, new: str) -> dict[str, Any]:
    """What the module defines if its source has `new` instead of `old`, which it has exactly once."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {module.__name__}"
    # A dataclass looks up the module of its name, which is the original one, for the types of its fields.
    defined: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(old, new), f"mutant of {module.__file__}", "exec"), defined)
    return defined
