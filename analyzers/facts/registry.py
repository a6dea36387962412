"""All facts, as the files of this package declare them, and what each reads of a history.

``tests/support/fact_inputs.py`` makes ``inputs.json`` from Spark's plans.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from analyzers.discovery import declared
from analyzers.facts.fact import Fact

FACTS: Mapping[str, Fact] = {fact.name: fact for fact in declared("analyzers.facts", Fact)}
"""By the name by which a check refers to it."""

NEEDS: Mapping[str, str] = {name: fact.needs for name, fact in FACTS.items() if fact.needs is not None}
"""Fact to what a history must contain for the fact to have a row that breaks a promise; see `Fact.needs`."""

FILE = Path(__file__).with_name("inputs.json")


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Of one fact. Columns of records, operations and observations, and kinds of operations (f)."""

    records: frozenset[str]
    operations: frozenset[str]
    observations: frozenset[str]
    kinds: frozenset[str]


@cache
def inputs() -> Mapping[str, Inputs]:
    """By the name of the fact."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Inputs(**{part: frozenset(names) for part, names in each.items()})
        for name, each in stored.items()
    }


def to_json(found: Mapping[str, Inputs]) -> dict[str, Any]:
    return {
        name: {part: sorted(names) for part, names in asdict(each).items()} for name, each in found.items()
    }
