"""What a check is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """A promise, as the condition under which a row of a fact breaks it.

    Being a condition and not a query, all checks over one fact share one pass, and every broken row
    is counted once per check.
    """

    anomaly: str
    """Its name in the catalogue."""
    over: str
    """The fact whose rows it looks at (see `analyzers.facts`)."""
    where: str
    """SQL over the columns of the fact: true where the promise is broken. Null is not broken."""
    time: str
    """SQL: ns, when it happened."""
    shows: Mapping[str, str]
    """Evidence: name to SQL of an integer. The names are those that the catalogue explains."""
