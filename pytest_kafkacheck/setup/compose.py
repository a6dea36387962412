"""Finds or installs docker-compose, which only kafkacheck's own tests need."""

from __future__ import annotations

import os
import shutil

from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian


def ensure_compose(say: Say) -> None:
    """Install Debian's package when running as root. Tests that need it are skipped without it.

    Raises InfrastructureError.
    """
    if shutil.which("docker-compose"):
        say("docker-compose: present")
    elif os.geteuid() == 0:
        debian.install(["docker-compose"], why="the tests of compose files need docker-compose", say=say)
    else:
        say(
            "docker-compose: missing, its tests are skipped; to run them: sudo apt-get install docker-compose"
        )
