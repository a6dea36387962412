"""What libraries log while a command runs: one line each, without tracebacks.

Without any handler, Python prints warnings and errors with their tracebacks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

PACE = "kafka.net.selector"
"""Logger of kafka-python that warns of each step of its own which takes a tenth of a second, as on a busy machine."""


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


@contextmanager
def brief_logs() -> Iterator[None]:
    """Leaves a program alone that has handlers of its own."""
    root = logging.getLogger()
    if root.handlers:
        yield
        return
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: record.name != PACE or record.levelno > logging.WARNING)
    handler.setFormatter(BriefFormatter("  %(name)s: %(message)s"))
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
