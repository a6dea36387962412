"""Mutants of facts that no history can tell from the original.

A file for each module of facts, with `BY_REASON`: reasons, each with the mutants for which it is true, named as by
`Mutant.name` without the module.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from importlib import import_module
from pkgutil import iter_modules

EXPLAINED = {
    f"{module.name}.{name}": reason
    for module in iter_modules(__path__)
    for reason, names in import_module(f"{__name__}.{module.name}").BY_REASON.items()
    for name in names
}
"""Name of a mutant to the reason."""


def differences(unnoticed: AbstractSet[str], explained: AbstractSet[str]) -> str:
    """The mutants that only one of the sets has, one a line, each with what to do about it; "" if there are none."""
    return "\n".join(
        [f"unnoticed, so plant a history or explain it: {name}" for name in sorted(unnoticed - explained)]
        + [f"noticed, so remove its explanation: {name}" for name in sorted(explained - unnoticed)]
    )
