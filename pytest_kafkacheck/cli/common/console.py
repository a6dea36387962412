"""What commands print on: tables on the console; progress, and what libraries log, on standard error."""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING

from pytest_kafkacheck.progress import timed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live


WIDTH = 160
"""Characters per line if the output is no terminal, so that a file always gets the same text."""


def console() -> Console:
    from rich.console import Console

    found = Console(highlight=False, emoji=False)
    return found if found.is_terminal else Console(highlight=False, emoji=False, width=WIDTH)


def table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    marked: Sequence[bool] = (),
    right: Sequence[int] = (),
) -> Iterator[object]:
    """A titled table. Values of `marked` are rows in bold, those of `right` are columns."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for position, heading in enumerate(headings):
        justify = "right" if position in right else "left"
        grid.add_column(Text(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for position, row in enumerate(rows):
        bold = bool(marked) and marked[position]
        grid.add_row(*(Text(cell) for cell in row), style="bold" if bold else None)
    yield Text(title, style="underline")
    yield Padding(grid, (0, 0, 0, 2), expand=False)
    yield ""


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
            # Rich hides it, and a process that is killed cannot show it again.
            self._live.console.show_cursor()
            atexit.register(self, "")  # an error leaves no line behind
        self._live.update(line)


show = StatusLine()

LIBRARY, SELECTOR = "kafka.", "kafka.net.selector"
"""kafka-python reports each connection that a fault breaks, ten lines a second, and each step of its own that takes a
tenth of a second. Its clients are tried again here, and what fails in the end is an error of ours. Only the errors of
one of its loggers are more than that: they are of its own code."""


class BriefFormatter(logging.Formatter):
    """The first line of a message, and of the error that came with it."""

    def format(self, record: logging.LogRecord) -> str:
        brief = copy(record)
        brief.exc_info = brief.exc_text = brief.stack_info = None
        line = super().format(brief).partition("\n")[0]
        error = record.exc_info[1] if record.exc_info else None
        return (
            line if error is None else f"{line} ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        )


def _is_news(record: logging.LogRecord) -> bool:
    if record.name == SELECTOR:
        return record.levelno > logging.WARNING
    return not record.name.startswith(LIBRARY)


@contextmanager
def brief_logs() -> Iterator[None]:
    """Leaves a program alone that has handlers of its own."""
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(_is_news)
    handler.setFormatter(BriefFormatter("  %(name)s: %(message)s"))
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
