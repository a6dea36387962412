"""Finds errors of several types in one pass over a fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True)
class Error:
    """An error type and its condition over the rows of a fact; all fields but `type` are SQL."""

    type: str
    entry: str
    """Columns of the description. Keys and values in them are JSON."""
    first: str
    second: str = "key"
    """Sort keys of the errors of a type: a number, then a text."""
    where: str = "true"
    part: str = "''"
    """Errors are counted and listed separately for each part."""


def hits(rows: DataFrame, errors: Sequence[Error]) -> DataFrame:
    """One row for each error that applies to a row: run, type, part, first, second, entry (JSON)."""
    each = ", ".join(f"if({error.where}, {_hit(error)}, null)" for error in errors)
    anything = " or ".join(f"({error.where})" for error in errors)
    return rows.where(anything).selectExpr("run", f"inline(filter(array({each}), hit -> hit is not null))")


def _hit(error: Error) -> str:
    return (
        f"named_struct('type', '{error.type}', 'part', {error.part}, 'first', cast({error.first} as bigint), "
        f"'second', cast({error.second} as string), "
        f"'entry', to_json(struct({error.entry}), map('ignoreNullFields', 'false')))"
    )
