"""Whether processes that a test started, or found, still run."""

from __future__ import annotations

import psutil


def is_alive(process: psutil.Process) -> bool:
    """A process may end between two questions about it; one that has ended and was not waited for is not alive."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
