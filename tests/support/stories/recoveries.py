"""Histories about the time from the heal of a fault to the next acknowledgement, and near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.stories.groups import ONE, S, heal

LATE = (30 + S, 31 + S)
"""The times of a send that ends just more than a second after the heal."""


def healed(s: Any) -> Any:
    """A fault is healed at 30 ns. A send was acknowledged before it."""
    return heal(s.send(ONE, 0, at=(0, 10)), (20, 30))


def recovered_slowly_after_a_send_of_unknown_outcome(s: Any) -> Any:
    """Only the acknowledgement shows that the log is available again."""
    healed(s).send(ONE + 1, None, at=(30, S // 2), type="info").send(ONE + 2, 1, at=LATE)
    return s.final({0: ONE, 1: ONE + 2}, end=2)


def recovered_with_what_was_sent_at_the_heal(s: Any) -> Any:
    """In the same nanosecond. The next acknowledgement comes much later."""
    healed(s).send(ONE + 1, 1, at=(30, 40)).send(ONE + 2, 2, at=LATE)
    return s.final({0: ONE, 1: ONE + 1, 2: ONE + 2}, end=3)


def not_recovered_with_what_was_sent_at_the_heal(s: Any) -> Any:
    healed(s).send(ONE + 1, None, at=(30, 31 + S), type="info")
    return s.final({0: ONE}, end=1)


def not_recovered_with_the_last_of_two_sends(s: Any) -> Any:
    """The last one counts: until then, the log was not available."""
    healed(s).send(ONE + 1, None, at=(30, S // 2), type="info").send(ONE + 2, None, at=LATE, type="info")
    return s.final({0: ONE}, end=1)


def sent_before_the_heal_and_never_after_it(s: Any) -> Any:
    """Nothing shows whether the log was available after the heal."""
    healed(s).send(ONE + 1, None, at=(20, 31 + S), type="info")
    return s.final({0: ONE}, end=1)


def not_acknowledged_before_the_heal(s: Any) -> Any:
    """Both logs may have been unavailable from the beginning: one send has an unknown outcome, and the other one was
    acknowledged in the nanosecond of the heal."""
    s.send(ONE, None, at=(0, 10), type="info").send(ONE + 1, 0, at=(0, 30), partition=1)
    heal(s, (20, 30)).send(ONE + 2, 0, at=LATE).send(ONE + 3, 1, at=LATE, partition=1)
    return s.final({0: ONE + 2}, end=1).final({0: ONE + 1, 1: ONE + 3}, end=2, partition=1)


def recovered_from_the_last_of_two_faults(s: Any) -> Any:
    """Nothing was sent between them."""
    heal(healed(s), (4 * S, 5 * S)).send(ONE + 1, 1, at=(5 * S, 6 * S))
    return s.final({0: ONE, 1: ONE + 1}, end=2)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    recovered_slowly_after_a_send_of_unknown_outcome: {"slow-recovery": 1, "unavailable": 1},
    recovered_with_what_was_sent_at_the_heal: {},
    not_recovered_with_what_was_sent_at_the_heal: {"slow-recovery": 1, "unavailable": 1},
    not_recovered_with_the_last_of_two_sends: {"slow-recovery": 1, "unavailable": 1},
    sent_before_the_heal_and_never_after_it: {"unavailable": 1},
    not_acknowledged_before_the_heal: {"unavailable": 1},
    recovered_from_the_last_of_two_faults: {},
}
