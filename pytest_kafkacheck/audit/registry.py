"""All rules, found by the folder in which they lie."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from pytest_kafkacheck.audit.rule import Rule

PACKAGE = "pytest_kafkacheck.audit.rules"


@cache
def all_rules() -> tuple[Rule, ...]:
    """In a fixed order: by file, within it as written."""
    modules = sorted(found.name for found in iter_modules(import_module(PACKAGE).__path__))
    return tuple(rule for name in modules for rule in import_module(f"{PACKAGE}.{name}").RULES)
