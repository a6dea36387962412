"""All facts, as the files of this package declare them."""

from __future__ import annotations

from collections.abc import Mapping

from analyzers.discovery import declared
from analyzers.facts.fact import Fact

FACTS: Mapping[str, Fact] = {fact.name: fact for fact in declared("analyzers.facts", Fact)}
"""By the name by which a check refers to it."""

NEEDS: Mapping[str, str] = {name: fact.needs for name, fact in FACTS.items() if fact.needs is not None}
"""Fact to what a history must contain for the fact to have a row that breaks a promise; see `Fact.needs`."""
