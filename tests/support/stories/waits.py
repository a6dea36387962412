"""Histories about the times without an acknowledgement, which are measured from sums over tenths of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, S

TWO = 2 << 40


def waited_between_the_nearest_acknowledgements(s: Any) -> Any:
    """Of two acknowledgements in one tenth of a second, the last one begins a wait, and the first one ends it. The
    second wait lasts until the end of the last send."""
    for offset, end in enumerate((100, S // 2, S // 2 + 50, 2 * S + 10, 2 * S + 50)):
        s.send(ONE + offset, offset, at=(50, end))
    for sequence, end in ((5, 4 * S + 10), (6, 4 * S + 50)):
        s.send(ONE + sequence, None, at=(60, end), type="info")
    return s.final({offset: ONE + offset for offset in range(5)}, end=5)


def waited_for_one_of_two_topics(s: Any) -> Any:
    """The other one was acknowledged within the limit."""
    s.send(ONE, 0, at=(0, 10)).send(TWO, 0, at=(0, S), topic="u").send(ONE + 1, 1, at=(20, 2 * S))
    return s.final({0: ONE, 1: ONE + 1}, end=2).final({0: TWO}, end=1, topic="u")


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    waited_between_the_nearest_acknowledgements: {"unavailable": 2},
    waited_for_one_of_two_topics: {"unavailable": 1},
}
