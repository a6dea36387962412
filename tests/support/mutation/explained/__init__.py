"""Mutants of facts that no history can tell from the original.

A file for each module of facts, with `BY_REASON`: reasons, each with the mutants for which it is true, named as by
`Mutant.name` without the module.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

EXPLAINED = {
    f"{module.name}.{name}": reason
    for module in iter_modules(__path__)
    for reason, names in import_module(f"{__name__}.{module.name}").BY_REASON.items()
    for name in names
}
"""Name of a mutant to the reason."""
