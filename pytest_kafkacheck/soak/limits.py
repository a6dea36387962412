"""When a soak ends, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.soak.retention import Keep


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
