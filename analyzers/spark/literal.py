"""Texts in SQL."""

from __future__ import annotations


def sql_literal(text: str) -> str:
    """A text in a statement or in a condition."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    # Spark replaces ${name}, also within a text.
    return "'" + escaped.replace("$", "\\u0024") + "'"
