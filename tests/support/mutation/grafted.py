"""Lets a whole altered module take the place of the imported one for a while, without another process: whoever has
imported its functions, classes and constants sees the altered ones."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

Undo = list[Callable[[], None]]


@contextmanager
def grafted(module: ModuleType, altered: Mapping[str, Any]) -> Iterator[None]:
    """altered: the globals of the module as its altered source defines them."""
    undo: Undo = []
    try:
        for name, new in altered.items():
            old = vars(module).get(name)
            if name.startswith("__") or old is None or _graft(old, new, undo):
                continue
            for each in [*sys.modules.values()]:
                if getattr(each, "__dict__", {}).get(name) is old:
                    _set(each, name, new, undo)
        _forget()
        yield
    finally:
        for back in reversed(undo):
            back()
        _forget()


def _graft(old: Any, new: Any, undo: Undo) -> bool:
    """Change the old value in place. False: it cannot be changed."""
    old, new = _unwrapped(old), _unwrapped(new)
    match old:
        case FunctionType() if isinstance(new, FunctionType):
            if old.__module__ == new.__module__ and old.__code__ != new.__code__:
                for part in ("__code__", "__defaults__", "__kwdefaults__"):
                    _set(old, part, getattr(new, part), undo)
            return True
        case type() if isinstance(new, type):
            if old.__module__ == new.__module__:
                for name, value in vars(new).items():
                    if not name.startswith("__") and name in vars(old):
                        _graft(vars(old)[name], value, undo)
            return True
        case _ if dataclasses.is_dataclass(old) and type(old).__qualname__ == type(new).__qualname__:
            for each in dataclasses.fields(old):
                value = getattr(new, each.name)
                if not _graft(getattr(old, each.name), value, undo):
                    _set(old, each.name, value, undo)
            return True
        case dict() if isinstance(new, dict):
            before = dict(old)
            undo.append(lambda: (old.clear(), old.update(before)))  # type: ignore[func-returns-value]
            kept = {
                name: old[name] if name in old and _graft(old[name], value, undo) else value
                for name, value in new.items()
            }
            old.clear()
            old.update(kept)
            return True
        case tuple() | list() if type(old) is type(new) and len(old) == len(new):
            changed = [_graft(a, b, undo) for a, b in zip(old, new, strict=True)]
            return all(changed)
        case _:
            return old is new or (type(old) is type(new) and bool(old == new))


def _unwrapped(value: Any) -> Any:
    """The function of a property, a method, or a decorator."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if isinstance(value, cached_property):
        value = value.func
    if isinstance(value, property):
        value = value.fget
    return getattr(value, "__wrapped__", value)


def _set(holder: Any, name: str, value: Any, undo: Undo) -> None:
    before = getattr(holder, name)
    undo.append(lambda: object.__setattr__(holder, name, before))
    object.__setattr__(holder, name, value)


def _forget() -> None:
    """What functions of analyzers remember of their results."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("analyzers"):
            for value in vars(module).values():
                getattr(value, "cache_clear", lambda: None)()
