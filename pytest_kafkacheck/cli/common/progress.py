"""Progress of a command on the terminal."""

from __future__ import annotations


def say(line: str) -> None:
    """Print a line of progress at once, also into a pipe."""
    print(f"  {line}", flush=True)
