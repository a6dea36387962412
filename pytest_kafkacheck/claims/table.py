"""Results of scenarios as rows of a table, from their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_kafkacheck.claims.result import figures, rate

HEADINGS = ("id", "scenario", "Kafka", "expected", "outcome", "figures", "s")


def row(result: Mapping[str, Any]) -> list[str]:
    """The seconds are those of the longest try."""
    tries = result["tries"]
    shown = ", ".join(f"{name} {value}" for name, value in figures(tries).items())
    return [
        result["id"],
        result["title"],
        result["case"],
        result["expected"],
        rate(tries),
        shown,
        f"{max(each['seconds'] for each in tries):.0f}",
    ]


def notes(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each scenario that did not show what is documented: what was seen instead."""
    return [
        f"{result['id']} {result['case']}: {each['outcome']}: {each['seen']}"
        for result in results
        if result["state"] != "as documented"
        for each in result["tries"]
        if each["outcome"] != result["expected"]
    ]
