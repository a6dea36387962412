"""When a soak ends, and which of its runs are kept, so that its folder stays below a limit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.soak.round import Round


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a soak ends, and what it keeps.

    seconds     over all calls; no round begins later. None for no limit.
    rounds      None for no limit.
    stop_after  causes of findings; None to go on.
    shrink      seconds for shrinking the first run of each cause; 0 for none.
    keep        which runs are kept.
    most_bytes  of the folder.
    """

    seconds: float | None = None
    rounds: int | None = None
    stop_after: int | None = None
    shrink: float = 0.0
    keep: Keep = "failed"
    most_bytes: int = 2_000_000_000

    def __post_init__(self) -> None:
        if self.seconds is None and self.rounds is None:
            raise UsageError("a soak without an end: say how long with --hours, or how often with --rounds")


Keep = Literal["invalid", "failed", "all"]
KEEPS = get_args(Keep)

KEPT: dict[Keep, tuple[str, ...]] = {
    "invalid": ("invalid",),
    "failed": ("invalid", "unknown"),
    "all": ("invalid", "unknown", "valid"),
}
"""Results of runs that are kept. ``failed`` are those that are not valid."""


def prune(folder: Path, rounds: Sequence[Round], *, keep: Keep, limit: int) -> int:
    """Remove runs that are not to be kept, and others until the folder has at most `limit` bytes. Returns its size.

    The oldest valid ones go first, then unknown ones, then invalid ones. The first run of each cause stays, even if
    the folder is then larger than the limit.
    """
    kept = [each for each in rounds if each.path and (folder / each.path).is_dir()]
    for each in kept:
        if each.result not in KEPT[keep]:
            shutil.rmtree(folder / each.path, ignore_errors=True)
    size = size_of(folder)
    for each in removable(rounds):
        if size <= limit:
            break
        run = folder / each.path
        if run.is_dir():
            size -= size_of(run)
            shutil.rmtree(run, ignore_errors=True)
    return size


def removable(rounds: Sequence[Round]) -> Iterator[Round]:
    """The runs in the order in which they are given up."""
    first = first_of_causes(rounds)
    for result in ("valid", "unknown", "invalid"):
        for each in rounds:
            if each.path and each.result == result and each.number not in first:
                yield each


def first_of_causes(rounds: Sequence[Round]) -> dict[int, str]:
    """Number of a round to a cause that it was the first to show; of several, the first.

    rounds  in the order in which they have ended: a run that is being shrunk does not cease to be the first one.
    """
    found: dict[str, int] = {}
    for each in rounds:
        for cause in each.causes:
            found.setdefault(cause, each.number)
    first: dict[int, str] = {}
    for cause, number in found.items():
        first.setdefault(number, cause)
    return first


def size_of(folder: Path) -> int:
    """Bytes of all its files. A run that is recorded or compacted may add and remove some meanwhile."""
    size = 0
    for home, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += os.lstat(os.path.join(home, name)).st_size
    return size
