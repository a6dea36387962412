"""Compose projects for tests. Only one can run on a machine at a time, because exported files have fixed ports."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker.images import image_for


def _is_there(*command: str) -> bool:
    return bool(shutil.which(command[0])) and not subprocess.run(command, capture_output=True).returncode


PLUGIN = ["docker", "compose"]
"""Compose v2."""

HAS_PLUGIN = _is_there(*PLUGIN, "version")
COMPOSE = PLUGIN if HAS_PLUGIN else ["docker-compose"]

NEEDS_COMPOSE = pytest.mark.skipif(
    not HAS_PLUGIN and shutil.which(COMPOSE[0]) is None,
    reason="neither `docker compose` nor docker-compose is installed: kafkacheck setup --compose as root",
)

FOLDER = Path(__file__).parents[2] / "compose"


@contextmanager
def composed(engine: Any, file: str, *, version: str = "4.1.1") -> Iterator[str]:
    """Start a project from a file in ``compose/``. Its containers run; its brokers may not answer yet."""
    project = f"kctest{uuid.uuid4().hex[:8]}"
    command = [*COMPOSE, "-f", str(FOLDER / file), "-p", project]
    environment = {**os.environ, "KAFKA_IMAGE": image_for(version, engine)}

    def compose(*arguments: str) -> None:
        done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    with (Path(tempfile.gettempdir()) / "kafkacheck-compose-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            compose("up", "-d")
            yield project
        finally:
            compose("down", "-v", "-t", "1")
