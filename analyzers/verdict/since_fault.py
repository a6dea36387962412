"""When something happened, counted from the latest fault before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from analyzers.verdict.wording import TimeScale

FAULT = "fault"
"""Marks where counting begins."""


class Moment(Protocol):
    @property
    def time(self) -> float | None:
        """s."""

    @property
    def is_fault(self) -> bool:
        """Whether a fault begins then."""


def since_fault(moments: Iterable[Moment], scale: TimeScale) -> Iterator[str]:
    """Of each moment, in order: ``fault``, ``+3.5 s`` since the nearest fault above, or nothing if there is none.

    What has no known time is not counted.
    """
    latest: float | None = None
    for each in moments:
        if each.is_fault:
            latest = each.time
            yield FAULT
        elif each.time is None or latest is None:
            yield ""
        else:
            # The difference of the times as they are shown beside it.
            yield f"+{scale.text(scale.rounded(each.time) - scale.rounded(latest))}"
