"""Texts in SQL."""

from __future__ import annotations


def sql_literal(text: str) -> str:
    """A text in a statement."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
