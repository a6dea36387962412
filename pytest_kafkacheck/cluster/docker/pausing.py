"""Pausing a container, which the kernel may refuse at first."""

from __future__ import annotations

from typing import Any

from docker.errors import APIError
from tenacity import retry, retry_if_exception, stop_after_attempt

ATTEMPTS = 2
"""Number of attempts. The engine gives up each of them after half a minute."""


def _gave_up(error: BaseException) -> bool:
    # With control groups of version 1 the kernel may fail to freeze a container that keeps creating threads. runc
    # then tries a thousand times, thaws the threads it has frozen, and reports this error.
    return isinstance(error, APIError) and "unable to freeze" in str(error.explanation)


@retry(retry=retry_if_exception(_gave_up), stop=stop_after_attempt(ATTEMPTS), reraise=True)
def pause(api: Any, container: str) -> None:
    """Raises docker's APIError, "unable to freeze" only after `ATTEMPTS`."""
    api.pause(container)
