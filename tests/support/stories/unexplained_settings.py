"""Failures like those of `failures`, with other settings: each is explained by a hint that no failure there shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.ends import committed_above_the_end
from tests.support.stories.failures import (
    ONE,
    SAFE,
    TWO,
    at,
    began,
    fault,
    isolated_leader,
    read_at_the_end,
    replaced,
    seen,
    writes,
)


def cut_off(s: Any) -> Any:
    """Broker 1 is cut off and goes on, up to offset 20; broker 2 leads from offset 10 on."""
    fault(s, "isolate", 2.0, 8.0, nodes=[1])
    for node in (1, 2, 3):
        seen(s, 1.0, node, 1, 0, 10)
    seen(s, 5.0, 2, 2, 1, 10, isr=(2, 3), mark=10)
    seen(s, 7.5, 1, 1, 0, 20, mark=10)
    return seen(s, 9.0, 1, 2, 1, 10, isr=(2, 3))


def sent_without_confirmation(s: Any) -> Any:
    """acks=0: no acknowledgement has an offset, so only what a reader got shows where the log was cut."""
    cut_off(began(s, SAFE | {"acks": "0"}))
    for number in range(20):
        s.send(ONE + number, None, at=at(1 + number / 10, 1.01 + number / 10))
    for number in range(12):
        s.poll(ONE + number, number, process=5, at=at(1.1 + number / 10, 1.2 + number / 10), leader_epoch=0)
    for number in range(10, 15):
        s.send(TWO + number, None, at=at(5 + number / 10, 5.01 + number / 10))
    return replaced(s, 10, 15)


def acknowledged_above_the_high_watermark(s: Any) -> Any:
    """As with acks=1, but the producer's settings are not recorded."""
    cut_off(began(s, SAFE))
    writes(writes(s, ONE, range(20), 1.0), TWO, range(10, 15), 6.0)
    return replaced(s, 10, 15)


def isolated_leader_unseen(s: Any) -> Any:
    """As `isolated_leader`, in a history without samples of brokers: that of a test with its own clients."""
    isolated_leader(s)
    s.observations.clear()
    return s


def truncated_with_safe_settings(s: Any) -> Any:
    """acks=all and two replicas in sync: no setting allows it."""
    cut_off(began(s, SAFE | {"acks": "all"}))
    writes(writes(s, ONE, range(20), 1.0), TWO, range(10, 15), 6.0)
    return replaced(s, 10, 15)


def elected_by_hand(s: Any) -> Any:
    """The settings allow no unclean election; while no broker leads, broker 2, which had left the ISR, is elected by
    hand."""
    began(s, SAFE)
    fault(s, "kill", 4.0, 9.0, nodes=[1])
    fault(s, "elect", 4.5, 4.6, nodes=[1, 2, 3], target="partition", options={"unclean": True})
    for node in (1, 2):
        seen(s, 1.0, node, 1, 0, 10)
        seen(s, 3.5, node, 1, 0, 20 if node == 1 else 10, isr=(1, 3), mark=20)
    writes(writes(s, ONE, range(20), 1.0), TWO, range(10, 15), 6.0)
    seen(s, 4.8, 2, 2, 1, 10, isr=(2,), mark=10)
    seen(s, 10.0, 1, 2, 1, 10, isr=(2,))
    return replaced(s, 10, 15)


def unflushed_on_every_replica(s: Any) -> Any:
    """All brokers lose their power, and with it records that all of them had, but that none had on disk."""
    began(s, SAFE)
    fault(s, "power-loss", 4.0, 6.0, nodes=[1, 2, 3])
    for node in (1, 2, 3):
        seen(s, 1.0, node, 1, 0, 10)
        seen(s, 3.5, node, 1, 0, 20, mark=20)
    writes(writes(s, ONE, range(20), 1.0), TWO, range(10, 15), 12.0)
    seen(s, 10.0, 2, 2, 1, 10, mark=10)
    seen(s, 10.5, 1, 2, 1, 10, mark=10)
    return replaced(s, 10, 15)


def written_twice_with_unknown_settings(s: Any) -> Any:
    began(s, SAFE)
    s.send(ONE, 0, at=at(1, 1.1)).send(ONE + 1, 2, at=at(1.2, 1.4))
    return read_at_the_end(s, {0: ONE, 1: ONE + 1, 2: ONE + 1})


UNEXPLAINED: tuple[Callable[[Any], Any], ...] = (
    sent_without_confirmation,
    acknowledged_above_the_high_watermark,
    truncated_with_safe_settings,
    elected_by_hand,
    unflushed_on_every_replica,
    written_twice_with_unknown_settings,
    committed_above_the_end,
)
