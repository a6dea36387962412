"""How long work reports its progress to people: lines that stay, and one line that is replaced."""

from __future__ import annotations

import time
from collections.abc import Callable

Say = Callable[[str], None]
"""Prints or logs one line, without its line end."""

Show = Callable[[str], None]
"""Shows how things are now, in place of what it showed before; an empty text ends that."""


def timed(line: str, *, on_terminal: bool) -> str:
    """With the time of day, unless somebody sees the line come. So the log of a job in CI says what took how long."""
    return line if on_terminal else f"{time.strftime('%H:%M:%S')}  {line}"


def show_nothing(_: str) -> None:
    """Where nobody looks."""
