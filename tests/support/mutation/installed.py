"""Lets a mutant take the place of the code of an imported module for a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from tests.support.mutation.sites import Mutant


@contextmanager
def installed(mutant: Mutant) -> Iterator[None]:
    """Functions get other code, so that whoever has imported them runs it; constants get another value in every
    module that has imported them by their name."""
    module = sys.modules[mutant.module]
    undo: list[Callable[[], None]] = []
    inner = _codes(mutant.compiled(False))
    code = next((each for each in inner if each.co_qualname == mutant.where), None)
    if code is not None:
        function = _function(module, mutant.where)
        original = function.__code__
        undo.append(lambda: setattr(function, "__code__", original))
        function.__code__ = code
    else:
        # A dataclass looks up the module of its name, which is the original one, for the types of its fields.
        defined: dict[str, Any] = {"__name__": mutant.module}
        exec(mutant.compiled(True), defined)
        value = getattr(module, mutant.where)
        for each in [*sys.modules.values()]:
            if (
                getattr(each, "__name__", "").startswith("analyzers")
                and vars(each).get(mutant.where) is value
            ):
                undo.append(lambda each=each: setattr(each, mutant.where, value))  # type: ignore[misc]
                setattr(each, mutant.where, defined[mutant.where])
    try:
        yield
    finally:
        for back in undo:
            back()


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _function(module: Any, qualified: str) -> FunctionType:
    owner, _, name = qualified.rpartition(".")
    found = vars(getattr(module, owner) if owner else module)[name]
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    if isinstance(found, cached_property):
        found = found.func
    return found.fget if isinstance(found, property) else found  # type: ignore[no-any-return, return-value]
