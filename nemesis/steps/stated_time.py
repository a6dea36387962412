"""Whether the time that a node states shows the clock that a fault wants: pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from nemesis.cluster import Ahead

TOLERANCE = 1.0
"""Seconds at most by which a stated time may differ from the wanted one; less for small offsets."""

SHARE = 0.25
"""Of an offset or a drift: by how much the observed one may differ."""

OLDEST = 60.0
"""Seconds at most for which a clock has drifted when it is looked at."""


@dataclass(frozen=True, kw_only=True)
class Skew:
    """offset: seconds ahead. ppm: millionths by which a clock then runs too fast."""

    offset: float = 0.0
    ppm: float = 0.0

    def less(self, other: Skew) -> Skew:
        return Skew(offset=self.offset - other.offset, ppm=self.ppm - other.ppm)


def shows_offset(seen: Ahead, wanted: Skew, own: Skew) -> bool | None:
    """Whether the clock is as wanted, and not as it would be without `own`. None where the look does not tell."""
    slack = min(TOLERANCE, abs(own.offset) * SHARE)
    if not _is_near(seen, wanted, slack):
        return False
    return None if _is_near(seen, wanted.less(own), slack) else True


def shows_drift(first: Ahead, second: Ahead, wanted: Skew, own: Skew) -> bool | None:
    """Whether the clock runs as fast as wanted between two looks, and not as fast as without `own`.

    None where the two looks do not tell.
    """
    if second.at <= first.at:
        return None
    least, most = drift(first, second)
    slack = abs(own.ppm) * SHARE
    if not least - slack <= wanted.ppm <= most + slack:
        return False
    return None if least - slack <= wanted.ppm - own.ppm <= most + slack else True


def drift(first: Ahead, second: Ahead) -> tuple[float, float]:
    """(least, most) millionths by which the clock ran too fast between the two looks."""
    seconds = second.at - first.at
    return (second.least - first.most) / seconds * 1e6, (second.most - first.least) / seconds * 1e6


def _is_near(seen: Ahead, skew: Skew, slack: float) -> bool:
    drifted = skew.ppm * 1e-6 * OLDEST
    return seen.most + slack >= skew.offset + min(0.0, drifted) and seen.least - slack <= skew.offset + max(
        0.0, drifted
    )
