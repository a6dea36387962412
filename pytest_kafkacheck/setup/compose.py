"""docker-compose, which only our own tests need."""

from __future__ import annotations

import os
import shutil

from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian


def ensure_compose(say: Say) -> None:
    """Install Debian's as root; without it tests are skipped, by name. Raises InfrastructureError."""
    if shutil.which("docker-compose"):
        say("docker-compose: present")
    elif os.geteuid() == 0:
        debian.install(["docker-compose"], why="the tests of compose files need docker-compose", say=say)
    else:
        say(
            "docker-compose: missing, its tests are skipped; to have them: sudo apt-get install docker-compose"
        )
