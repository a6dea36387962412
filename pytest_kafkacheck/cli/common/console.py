"""The console that tables are printed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 160
"""Characters per line if the output is no terminal, so that a file always gets the same text."""


def console() -> Console:
    from rich.console import Console

    found = Console(highlight=False, emoji=False)
    return found if found.is_terminal else Console(highlight=False, emoji=False, width=WIDTH)
