"""Text files that other programs wrote, plain or compressed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO

GZIP = b"\x1f\x8b"
"""The first bytes of a file that gzip made."""


def is_gzip(path: Path) -> bool:
    """By its name or its first bytes. Raises OSError."""
    if path.name.endswith(".gz"):
        return True
    with path.open("rb") as file:
        return file.read(len(GZIP)) == GZIP


def opened(path: Path) -> IO[str]:
    """Raises OSError."""
    return gzip.open(path, "rt", encoding="utf-8") if is_gzip(path) else path.open(encoding="utf-8")


def not_text(path: Path) -> str:
    """What to say of a file that could not be decoded: a decoder that reads ahead does not know the line. Raises
    OSError."""
    with gzip.open(path) if is_gzip(path) else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return f"line {number}: not UTF-8 text (byte {error.start + 1} of the line: {error.reason})"
    return "not UTF-8 text"
