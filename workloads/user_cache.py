"""The folder for what can be made again: class archives, client libraries, formatted storage."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Of this user and kafkacheck. It need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkacheck"
