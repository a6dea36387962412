"""Names of segments: the table, the process that wrote it, its number, and whether it is sealed.

A segment ``records-7-0.open.arrows`` is being written; sealed, it is named ``records-7-0.arrows`` and never changes
again. The last segment of a process that was killed keeps the name of an open one.
"""

from __future__ import annotations

import re
from pathlib import Path

OPEN = ".open.arrows"
SEALED = ".arrows"
NAME = re.compile(r"(?P<table>[a-z]+)-(?P<process>-?\d+)-(?P<number>\d+)(?:\.open)?\.arrows")


def segment(history: Path, table: str, process: int, number: int = 0, *, sealed: bool = True) -> Path:
    """The path of the `number`-th segment of a process."""
    return history / "segments" / f"{table}-{process}-{number}{SEALED if sealed else OPEN}"


def segments(history: Path, table: str, *, sealed: bool = False) -> list[Path]:
    """A table's segments, those of each process in the order in which they were written.

    sealed  only sealed ones, which can be read and judged while the run goes on.
    """
    found = (history / "segments").glob(f"{table}-*{SEALED}")
    return sorted((path for path in found if not (sealed and path.name.endswith(OPEN))), key=_order)


def _order(path: Path) -> tuple[int, int, str]:
    name = NAME.fullmatch(path.name)
    return (int(name["process"]), int(name["number"]), path.name) if name else (0, 0, path.name)
