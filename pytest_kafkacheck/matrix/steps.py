"""Parts that several scenarios have in common."""

from __future__ import annotations

from nemesis.event import Event
from nemesis.faults.partition import partition
from pytest_kafkacheck.matrix.scenario import LEADER, Layout

SHRINK = 4.0
"""Seconds for a follower to leave the ISR: replica.lag.time.max.ms is 2 s, and it takes up to 1.5 times as long."""

ALONE = 3.0
"""Seconds for which the leader is alone in the ISR."""

OVER = 1.0
"""Seconds by which a cut ends after the leader has failed."""


REFUSES = {"below-minimum": -2}
"""After `shrink`: while the leader is alone. The cut of the last follower is the fault before that of the leader, and
ends before another one can be elected."""


def lag(layout: Layout, *, at: float) -> list[Event]:
    """Followers get no records from the leader for two seconds, and stay in the ISR."""
    return [
        partition([[LEADER], [node]], plane="replication", at=at, lasting=1.0 + OVER)
        for node in layout.followers
    ]


def shrink(layout: Layout) -> tuple[list[Event], float]:
    """Followers leave the ISR one after another; and the time at which the leader has been alone for a while."""
    starts = [(1.0 + SHRINK * number, node) for number, node in enumerate(layout.followers)]
    alone = 1.0 + SHRINK * len(starts) + ALONE
    return (
        [
            partition([[LEADER], [node]], plane="replication", at=at, lasting=alone + OVER - at)
            for at, node in starts
        ],
        alone,
    )
