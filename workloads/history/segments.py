"""Names of segments: which process wrote one, which table, and whether more will follow in it."""

from __future__ import annotations

import re
from pathlib import Path

OPEN = ".open.arrows"
SEALED = ".arrows"
NAME = re.compile(r"(?P<table>[a-z]+)-(?P<process>-?\d+)-(?P<number>\d+)(?:\.open)?\.arrows")


def segment(history: Path, table: str, process: int, number: int = 0, *, sealed: bool = True) -> Path:
    """Where a process keeps the `number`-th part of its rows: ``records-7-0.arrows`` once nothing more will
    be written into it, ``records-7-0.open.arrows`` until then, and for ever where the process was killed."""
    return history / "segments" / f"{table}-{process}-{number}{SEALED if sealed else OPEN}"


def segments(history: Path, table: str, *, sealed: bool = False) -> list[Path]:
    """A table's segments, of each process in the order in which they were written.

    sealed  only those; while a run goes on, these no longer change and can be read and judged.
    """
    found = (history / "segments").glob(f"{table}-*{SEALED}")
    return sorted((path for path in found if not (sealed and path.name.endswith(OPEN))), key=_position)


def _position(path: Path) -> tuple[int, int, str]:
    name = NAME.fullmatch(path.name)
    return (int(name["process"]), int(name["number"]), path.name) if name else (0, 0, path.name)
