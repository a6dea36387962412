"""A limit for clean-up: an engine that hangs shall not take the session with it."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_with_deadline(limit: float, work: Callable[[], None], *, name: str) -> None:
    """Call `work`; what it raises is raised here.

    Raises TimeoutError after `limit` seconds. Then the work goes on, on its thread, or ends with the process.
    """
    trouble: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except BaseException as error:
            trouble.append(error)

    working = threading.Thread(target=call, name=name, daemon=True)
    working.start()
    working.join(limit)
    if working.is_alive():
        raise TimeoutError(f"the engine took more than {limit:.0f} s")
    if trouble:
        raise trouble[0]
