"""A deadline for clean-up, so that an engine that hangs does not block the session for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_with_deadline(limit: float, work: Callable[[], None], *, name: str) -> None:
    """Call `work` on a thread of that name and wait for it. An exception of `work` is raised here.

    Raises TimeoutError after `limit` seconds. The thread then goes on until `work` returns or the process ends.
    """
    errors: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, name=name, daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        raise TimeoutError(f"the engine took more than {limit:.0f} s")
    if errors:
        raise errors[0]
