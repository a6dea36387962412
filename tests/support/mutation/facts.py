"""Mutants of the modules of facts, and which of them a history tells from the original."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame

import analyzers.facts
from analyzers.catalogue.check import Check
from analyzers.facts.registry import FACTS
from analyzers.history.load import History
from analyzers.history.shared_tables import SharedTables
from analyzers.judge.find import _hits
from tests.support.mutation.cycles import CANDIDATES, found_cycles
from tests.support.mutation.cycles import MODULE as DEPENDENCIES
from tests.support.mutation.frames import FRAMES
from tests.support.mutation.sites import Mutant, mutants
from tests.support.mutation.sql import SQL

PACKAGE = analyzers.facts.__name__
MODULES = {each.name: f"{PACKAGE}.{each.name}" for each in pkgutil.iter_modules(analyzers.facts.__path__)}


def of_module(name: str) -> Iterator[Mutant]:
    return mutants(importlib.import_module(MODULES[name]), [*SQL, *FRAMES])


def users(name: str) -> set[str]:
    """The facts, and `CANDIDATES` of cycles, that are computed with the help of a module."""
    modules = {fact: each.rows.__module__ for fact, each in FACTS.items()}
    modules |= dict.fromkeys(CANDIDATES, MODULES[DEPENDENCIES])
    return {fact for fact, module in modules.items() if name in _imported(module)}


def _imported(module: str) -> set[str]:
    """The modules of facts that a module needs, itself included."""
    found, open_ones = set(), [module.rpartition(".")[2]]
    while open_ones:
        name = open_ones.pop()
        if name not in found:
            found.add(name)
            tree = ast.parse(inspect.getsource(importlib.import_module(MODULES[name])))
            open_ones += [
                each.module.rpartition(".")[2]
                for each in ast.walk(tree)
                if isinstance(each, ast.ImportFrom) and (each.module or "").startswith(PACKAGE + ".")
            ]
    return found


LOST = (ConnectionError, Py4JNetworkError)
"""The process of Spark is gone: that says nothing of a mutant."""

Makers = Mapping[str, Callable[[History], DataFrame]]


def makers() -> Makers:
    """What computes each of the facts, and of `CANDIDATES`, as the imported modules define them."""
    facts = importlib.import_module(f"{PACKAGE}.registry").FACTS
    candidates = importlib.import_module(MODULES[DEPENDENCIES]).cycle_candidates
    return {**facts, **{name: partial(candidates, kinds=kinds) for name, kinds in CANDIDATES.items()}}


@contextmanager
def altered(mutant: Mutant) -> Iterator[Makers]:
    """The same, if one of the modules is altered. All of these modules are imported anew, because they compute
    constants from each other's constants."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith(PACKAGE + ".")}
    for name in kept:
        del sys.modules[name]
    try:
        module = sys.modules[mutant.module] = ModuleType(mutant.module)
        exec(mutant.compiled(True), vars(module))
        yield makers()
    finally:
        for name in [each for each in sys.modules if each.startswith(PACKAGE + ".")]:
            del sys.modules[name]
        for name, module in kept.items():
            sys.modules[name] = module
            setattr(analyzers.facts, name.rpartition(".")[2], module)


class EqualTables(SharedTables):
    """Statements with equal rows share one table. A mutant that changes no row has the plan of the original then, and
    a plan has the table instead of the statement, which takes long to plan."""

    def __init__(self, sql: Callable[[str], DataFrame]) -> None:
        super().__init__(sql)
        self._of_statements: dict[str, DataFrame] = {}
        self._of_rows: dict[str, DataFrame] = {}

    def table(self, statement: str) -> DataFrame:
        if statement not in self._of_statements:
            table = super().table(statement)
            rows = repr((table.schema, sorted(map(repr, table.collect()))))
            self._of_statements[statement] = self._of_rows.setdefault(rows, table)
        return self._of_statements[statement]


def differing(mutant: Mutant, history: History, name: str, original: DataFrame) -> DataFrame | bool:
    """The fact as the mutant computes it. False: it is the same in the end. True: the mutant is no program, because
    Spark refuses it, or it returns other columns than the checks read."""
    try:
        with altered(mutant) as facts:
            rows = facts[name](history)
            if rows.columns != original.columns:
                return True
            return False if rows.sameSemantics(original) else rows
    except LOST:
        raise
    except Exception:
        return True


def findings(name: str, rows: DataFrame, checks: Sequence[Check]) -> Counter[str]:
    """All that the checks of a fact find in its rows, with the evidence, or the cycles in these candidates."""
    if name in CANDIDATES:
        return Counter(found_cycles(name, rows))
    hits = _hits(rows, [check for check in checks if check.over == name])
    return Counter(map(repr, hits.collect()))


def is_noticed(name: str, rows: DataFrame, expected: Counter[str], checks: Sequence[Check]) -> bool:
    """Whether Spark fails, or the checks find something else, or the same with other evidence."""
    try:
        return findings(name, rows, checks) != expected
    except LOST:
        raise
    except Exception:
        return True
