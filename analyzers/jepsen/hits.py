"""Errors of several types out of one pass over a fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True)
class Error:
    """One kind of error among the rows of a fact; everything is SQL."""

    type: str
    entry: str
    """What is shown: columns, of which key, value, values and the like hold JSON."""
    first: str
    second: str = "key"
    """How the errors of a type are put in order: by a number, then by a text."""
    where: str = "true"
    part: str = "''"
    """Errors are counted and shown apart for each."""


def hits(rows: DataFrame, errors: Sequence[Error]) -> DataFrame:
    """One row for each row and error that holds of it: run, type, part, first, second, entry (JSON)."""
    each = ", ".join(f"if({error.where}, {_hit(error)}, null)" for error in errors)
    anything = " or ".join(f"({error.where})" for error in errors)
    return rows.where(anything).selectExpr("run", f"inline(filter(array({each}), hit -> hit is not null))")


def _hit(error: Error) -> str:
    return (
        f"named_struct('type', '{error.type}', 'part', {error.part}, 'first', cast({error.first} as bigint), "
        f"'second', cast({error.second} as string), "
        f"'entry', to_json(struct({error.entry}), map('ignoreNullFields', 'false')))"
    )
