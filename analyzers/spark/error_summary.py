"""Spark's error messages in one line, without Java stack traces."""

from __future__ import annotations

LONGEST = 300
"""Characters kept of each part."""


def error_summary(text: str) -> str:
    """The first line of an error message and its root cause, joined by ``;``; empty if the text is empty."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    # The Py4J frames carry no information; show only Spark's own message.
    messages = [line for line in lines if not line.startswith("An error occurred while calling")]
    causes = [line for line in messages if line.startswith("Caused by: ")]
    return "; ".join(dict.fromkeys(each[:LONGEST].rstrip(".") for each in (*messages[:1], *causes[-1:])))
