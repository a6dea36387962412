"""Space for runs: too little is refused before a run starts, ends its load early, or is said in one sentence."""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_kafkacheck.errors import DiskFullError

RESERVE = 64 << 20
"""Bytes. A run of a minute at 1,000 records per second has a history of 20 MB, and logs of its nodes of 5 MB."""

LATER = 2
"""Times the history so far: final reads record each record once more, and Parquet files are written beside them."""

EVERY = 1.0
"""Seconds between two looks at the file system."""

FULL = (errno.ENOSPC, errno.EDQUOT)


def free_bytes(folder: Path) -> int:
    """Of the file system on which the folder is, or will be."""
    existing = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    return shutil.disk_usage(existing).free


def require_space(folder: Path) -> None:
    """Raise DiskFullError where a run would probably fill the file system."""
    if (free := free_bytes(folder)) < RESERVE:
        raise DiskFullError(
            f"{folder}: {_mb(free)} are free on its file system, and a run needs {_mb(RESERVE)} or more; make space, "
            f"or keep runs in another folder"
        )


class SpaceWatch:
    """Ends the load of a run while there is still space for what follows it. history: its folder."""

    def __init__(
        self,
        history: Path,
        *,
        free: Callable[[Path], int] = free_bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._history, self._free, self._clock = history, free, clock
        self._next = clock()
        self._error: DiskFullError | None = None

    @property
    def is_short(self) -> bool:
        """Whether `check` has found too little space."""
        return self._error is not None

    def check(self) -> None:
        """Raises the same DiskFullError each time, once space was short."""
        if self._error is None and self._clock() >= self._next:
            self._next = self._clock() + EVERY
            needed, free = RESERVE // 2 + LATER * _size(self._history), self._free(self._history)
            if free < needed:
                self._error = DiskFullError(
                    f"{self._history.parent}: {_mb(free)} are free on its file system, and the end of the run needs "
                    f"{_mb(needed)}; what was recorded until then is judged"
                )
        if self._error is not None:
            raise self._error


@contextmanager
def full_disk_said(folder: Path, *, then: str = "What was recorded until then is kept") -> Iterator[None]:
    """Raise DiskFullError in place of the OSError of a file system without space. then: the end of its text."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        place = Path(error.filename) if isinstance(error.filename, str) else folder
        raise DiskFullError(
            f"{place}: cannot be written, because its file system has {_mb(free_bytes(place))} free; make space, or "
            f"keep runs in another folder with more. {then}"
        ) from error


def _size(folder: Path) -> int:
    size = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a segment that was sealed, and has another name now
            size += file.lstat().st_size
    return size


def _mb(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"
