"""Wait for a condition, with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(
    condition: Callable[[], bool],
    *,
    limit: float,
    interval: float = 0.1,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
    abandon: Callable[[], bool] = lambda: False,
) -> bool:
    """Whether the condition became true within `limit` seconds. It is evaluated at least once.

    interval  seconds between two evaluations.
    sleep     waits that many seconds, or less.
    abandon   returns whether to end the wait early.
    """
    deadline = clock() + limit
    while not condition():
        left = deadline - clock()
        if left <= 0 or abandon():
            return False
        sleep(min(interval, left))
    return True
