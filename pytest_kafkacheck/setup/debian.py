"""Installs Debian packages, as root, on a machine that has apt. docker-compose is one that only our tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say

LAST_LINES = 15


def run(command: Sequence[str], *, limit: float = 900, cwd: str | None = None) -> None:
    """Run a command quietly. Raises InfrastructureError with its last lines when it fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
            cwd=cwd,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"`{' '.join(command)}` failed: {error}") from error
    if done.returncode:
        tail = "\n".join(done.stdout.decode(errors="replace").splitlines()[-LAST_LINES:])
        raise InfrastructureError(
            f"`{' '.join(command)}` ended with status {done.returncode}; its last lines:\n{tail}"
        )


def install(packages: Sequence[str], *, why: str, say: Say) -> None:
    """Install packages. Raises InfrastructureError, which says what to do, without root or without apt."""
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        reason = (
            "this is not Debian or Ubuntu" if shutil.which("apt-get") is None else "it does not run as root"
        )
        raise InfrastructureError(
            f"{why}, and kafkacheck cannot install it: {reason}. On Debian or Ubuntu run "
            f"`sudo apt-get install {names}`, elsewhere install the equivalent packages, and try again."
        )
    say(f"installing {names}: {why}")
    run(["apt-get", "update", "-qq"])
    run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages])


def ensure_compose(say: Say) -> None:
    """Install Debian's package when running as root. Tests that need it are skipped without it.

    Raises InfrastructureError.
    """
    if shutil.which("docker-compose"):
        say("docker-compose: present")
    elif os.geteuid() == 0:
        install(["docker-compose"], why="the tests of compose files need docker-compose", say=say)
    else:
        say(
            "docker-compose: missing, its tests are skipped; to run them: sudo apt-get install docker-compose"
        )
