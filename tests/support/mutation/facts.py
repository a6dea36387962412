"""Mutants of the modules of facts, and which of them a history tells from the original."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from pyspark.sql import DataFrame

import analyzers.facts
from analyzers.catalogue.check import Check
from analyzers.facts.fact import Fact
from analyzers.facts.registry import FACTS
from analyzers.history.load import History
from analyzers.judge.find import Found, find
from analyzers.judge.prefilter import Suspects
from tests.support.mutation.frames import FRAMES
from tests.support.mutation.sites import Mutant, mutants
from tests.support.mutation.sql import SQL

PACKAGE = analyzers.facts.__name__
MODULES = {each.name: f"{PACKAGE}.{each.name}" for each in pkgutil.iter_modules(analyzers.facts.__path__)}

EVERY_EXAMPLE = 1 << 20


def of_module(name: str) -> Iterator[Mutant]:
    return mutants(importlib.import_module(MODULES[name]), [*SQL, *FRAMES])


def users(name: str) -> set[str]:
    """The facts that are computed with the help of a module."""
    return {fact for fact, each in FACTS.items() if name in _imported(inspect.getmodule(each.rows).__name__)}  # type: ignore[union-attr]


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


@contextmanager
def altered(mutant: Mutant) -> Iterator[Mapping[str, Fact]]:
    """The facts, if one of their modules is altered. All of these modules are imported anew, because they compute
    constants from each other's constants."""
    kept = {name: module for name, module in sys.modules.items() if name.startswith(PACKAGE + ".")}
    for name in kept:
        del sys.modules[name]
    try:
        module = sys.modules[mutant.module] = ModuleType(mutant.module)
        exec(mutant.compiled(True), vars(module))
        yield importlib.import_module(f"{PACKAGE}.registry").FACTS
    finally:
        for name in [each for each in sys.modules if each.startswith(PACKAGE + ".")]:
            del sys.modules[name]
        for name, module in kept.items():
            sys.modules[name] = module
            setattr(analyzers.facts, name.rpartition(".")[2], module)


@dataclass(frozen=True, kw_only=True)
class Altered:
    """A fact as a mutant computes it."""

    mutant: str
    fact: str
    rows: DataFrame


def differing(mutant: Mutant, history: History, originals: Mapping[str, DataFrame]) -> list[Altered] | None:
    """The facts that the mutant computes in another way; none if it is the same in the end. None if it is no
    program: Spark refuses it, or it returns other columns than the checks read.

    originals  of the facts, by name.
    """
    found = []
    try:
        with altered(mutant) as facts:
            for name in originals:
                rows = facts[name](history)
                if rows.columns != originals[name].columns:
                    return None
                if plan_of(rows) != plan_of(originals[name]):
                    found.append(Altered(mutant=mutant.name, fact=name, rows=rows))
    except Exception:
        return None
    return found


def plan_of(rows: DataFrame) -> str:
    """Without the numbers that Spark gives to each column."""
    text = rows._jdf.queryExecution().analyzed().toString()
    return re.sub(r"#\d+L?|\b[0-9a-f]{8}\b", "", text)


def unnoticed(history: History, checks: Sequence[Check], batch: Sequence[Altered]) -> set[str]:
    """The mutants with which all checks find the same, with the same evidence. One Spark job."""
    names = {each.fact for each in batch}
    judged = [check for check in checks if check.over in names]
    facts: dict[str, Any] = {name: FACTS[name] for name in names}
    more = []
    for number, each in enumerate(batch):
        facts[f"{each.fact}~{number}"] = lambda _, rows=each.rows: rows
        more += [_renamed(check, number) for check in judged if check.over == each.fact]
    found, crashed = find(
        history, [*judged, *more], examples=EVERY_EXAMPLE, facts=facts, prefilter=lambda *_: Suspects(runs={})
    )
    outcomes: dict[str, set[str]] = {}
    for one in found:
        outcomes.setdefault(one.anomaly, set()).add(_outcome(one))
    failed = {each.anomaly for each in crashed}
    same: dict[str, bool] = {}
    for number, each in enumerate(batch):
        mine = [check for check in judged if check.over == each.fact]
        same[each.mutant] = same.get(each.mutant, True) and all(
            f"{check.name}~{number}" not in failed
            and outcomes.get(f"{check.name}~{number}", set()) == outcomes.get(check.name, set())
            for check in mine
        )
    return {name for name, is_same in same.items() if is_same}


def _renamed(check: Check, number: int) -> Check:
    anomaly = replace(check.anomaly, name=f"{check.name}~{number}")
    return replace(check, over=f"{check.over}~{number}", anomaly=anomaly)


def _outcome(one: Found) -> str:
    return repr((one.run, one.count, one.examples))
