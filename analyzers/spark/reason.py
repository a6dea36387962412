"""What an error of Spark says, without its traces."""

from __future__ import annotations

LONGEST = 300


def reason(text: str) -> str:
    """In one line, and not a long one: its head, and what caused it in the end; empty where it says nothing."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    # What Py4J was about to call tells nothing.
    heads = [line for line in lines if not line.startswith("An error occurred while calling")]
    causes = [line for line in heads if line.startswith("Caused by: ")]
    return "; ".join(dict.fromkeys(each[:LONGEST].rstrip(".") for each in (*heads[:1], *causes[-1:])))
