"""Test functions, called directly: thousands of times in a few seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import signature
from types import ModuleType
from typing import Any

import pytest

from tests.support.mutation.installed import installed
from tests.support.mutation.sites import Mutant

Call = Callable[[], None]


def calls(module: ModuleType) -> Iterator[Call]:
    """Every test of a module with every set of its parameters. Tests that need fixtures are left out."""
    for name, function in vars(module).items():
        if not name.startswith("test_"):
            continue
        sets: list[dict[str, Any]] = [{}]
        for mark in getattr(function, "pytestmark", []):
            names, rows = mark.args
            named = [each.strip() for each in names.split(",")] if isinstance(names, str) else [*names]
            given = [dict(zip(named, row if len(named) > 1 else [row], strict=True)) for row in rows]
            sets = [each | more for each in sets for more in given]
        if signature(function).parameters.keys() == sets[0].keys():
            yield from (partial(function, **each) for each in sets)


def survivors(mutants: Sequence[Mutant], tests: Sequence[Call]) -> list[str]:
    """The names of the mutants with which no test fails."""
    ordered = [*tests]
    names = []
    for mutant in mutants:
        try:
            with installed(mutant):
                failed = next((test for test in ordered if _fails(test)), None)
        except (TypeError, KeyError):
            continue  # Its module could not be loaded.
        if failed is None:
            names.append(mutant.name)
        else:
            # The next mutant is probably noticed by the same test.
            ordered.remove(failed)
            ordered.insert(0, failed)
    return names


def _fails(test: Call) -> bool:
    try:
        test()
    except (Exception, pytest.fail.Exception):
        # `pytest.raises` fails with the latter, which is no Exception.
        return True
    return False
