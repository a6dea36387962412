"""Find declarations in a package, so that adding one means adding a file."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


def declared(package: str, kind: type[T]) -> Iterator[T]:
    """Every object of this kind that a module of the package has at its top level: by module name, then as written.

    An object that several modules share, because one imports it from the other, comes once.
    """
    seen: set[int] = set()
    for module in sorted(
        each.name for each in pkgutil.iter_modules(importlib.import_module(package).__path__)
    ):
        for value in vars(importlib.import_module(f"{package}.{module}")).values():
            if isinstance(value, kind) and id(value) not in seen:
                seen.add(id(value))
                yield value
