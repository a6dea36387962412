"""The error for files that cannot be judged."""

from __future__ import annotations

from pathlib import Path


class BadHistory(ValueError):
    """A file cannot be judged. The message names the file, the row (counted from 0) and the reason."""

    def __init__(self, file: Path | str, reason: str, *, row: int | None = None) -> None:
        where = f"{file}" if row is None else f"{file}, row {row}"
        super().__init__(f"{where}: {reason}")
        self.file, self.row, self.reason = file, row, reason
