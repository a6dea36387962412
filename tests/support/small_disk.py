"""A file system of a few megabytes, for tests of what happens when it is full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, *, mb: int) -> Iterator[Path]:
    """The folder as a file system of its own. Skips the test where it may not mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mb}m", "tmpfs", os.fspath(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root with CAP_SYS_ADMIN can mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", os.fspath(folder)], check=True)
