"""A container's pause, which the kernel may refuse for a moment."""

from __future__ import annotations

from typing import Any

from docker.errors import APIError
from tenacity import retry, retry_if_exception, stop_after_attempt

ATTEMPTS = 2
"""Each takes the engine half a minute before it gives up."""


def _gave_up(error: BaseException) -> bool:
    # A kernel with control groups of version 1 may fail to freeze a container in which threads keep appearing. What
    # runs containers then tries a thousand times, thaws what is frozen already, and says this.
    return isinstance(error, APIError) and "unable to freeze" in str(error.explanation)


@retry(retry=retry_if_exception(_gave_up), stop=stop_after_attempt(ATTEMPTS), reraise=True)
def pause(api: Any, container: str) -> None:
    """Raises docker's APIError, "unable to freeze" only after `ATTEMPTS`."""
    api.pause(container)
