"""Progress of a command, on standard error: standard output is for results."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING

from pytest_kafkacheck.progress import timed

if TYPE_CHECKING:
    from rich.live import Live

REFRESH = 2
"""Times per second. More would take processor time from the run."""


def say(line: str) -> None:
    """Print a line of progress at once. In a file or a log of continuous integration it has the time of day."""
    print(f"  {timed(line, on_terminal=sys.stderr.isatty())}", file=sys.stderr, flush=True)


class StatusLine:
    """The last line of a terminal. Shows nothing where standard error is no terminal."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def __call__(self, text: str) -> None:
        """Replace what is shown; an empty text removes the line, and has to be the last one."""
        if not text:
            if self._live is not None:
                self._live.stop()
                self._live = None
            return
        if not sys.stderr.isatty():
            return
        from rich.text import Text

        line = Text(f"  {text}", style="dim", no_wrap=True, overflow="ellipsis")
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(line, console=Console(stderr=True), refresh_per_second=REFRESH, transient=True)
            self._live.start()
            atexit.register(self, "")  # an error leaves no hidden cursor behind
        self._live.update(line)


show = StatusLine()
