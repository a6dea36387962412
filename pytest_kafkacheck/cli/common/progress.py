"""Progress of a command, on standard error: standard output is for results."""

from __future__ import annotations

import sys
import time


def say(line: str) -> None:
    """Print a line of progress at once. In a file or a log of continuous integration it has the time of day."""
    when = "" if sys.stderr.isatty() else f"{time.strftime('%H:%M:%S')}  "
    print(f"  {when}{line}", file=sys.stderr, flush=True)
