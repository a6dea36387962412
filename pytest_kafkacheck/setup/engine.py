"""Finds a Docker engine that answers, or installs and starts one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from pytest_kafkacheck.cluster.docker.engine import connect, is_refused
from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.progress import Say
from pytest_kafkacheck.setup import debian

LIMIT = 60.0
"""Seconds for a started engine to answer."""


def ensure_engine(say: Say) -> None:
    """Install or start an engine if none answers. Raises InfrastructureError when that is not possible."""
    try:
        say(f"Docker engine {_version()}: running")
        return
    except InfrastructureError as silent:
        if "DOCKER_HOST" in os.environ or is_refused(silent):
            raise
        if os.geteuid() != 0:
            raise InfrastructureError(
                f"{silent}\nOnly root can install or start one. Ask for `sudo systemctl start docker` "
                f"(and membership in the group docker), or run this once as root."
            ) from silent
    if _dockerd() is None:
        debian.install(["docker.io"], why="no Docker engine is installed", say=say)
    _start(say)


def _start(say: Say) -> None:
    if Path("/run/systemd/system").is_dir():
        say("starting the Docker engine by systemd")
        debian.run(["systemctl", "start", "docker"])
        _await(None)
        return
    log = new_log()
    dockerd = _dockerd()
    if dockerd is None:
        raise InfrastructureError("docker.io is installed, but there is no dockerd on PATH or in /usr/sbin.")
    say(f"starting the Docker engine in the background (log: {log})")
    # After a machine was stopped, the pid file of a dead engine may be left, and dockerd refuses to start with it.
    pid_file = Path("/var/run/docker.pid")
    if pid_file.exists() and not Path(f"/proc/{pid_file.read_text().strip()}/exe").exists():
        pid_file.unlink()
    with log.open("ab") as output:
        process = subprocess.Popen(
            [dockerd], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd="/"
        )
    _await((process, log))
    say(f"Docker engine {_version()}: started")


def new_log() -> Path:
    """The path of a log for an engine, in a new folder that only its owner can enter.

    Root writes it. With a name that others can guess, in a folder where they can write, they could put a link there
    to a file of root's.
    """
    return Path(tempfile.mkdtemp(prefix="kafkacheck-dockerd-")) / "dockerd.log"


def _await(started: tuple[subprocess.Popen[bytes], Path] | None) -> None:
    def once() -> None:
        if started is not None and started[0].poll() is not None:
            tail = "\n".join(started[1].read_text(errors="replace").splitlines()[-15:])
            raise RuntimeError(f"dockerd ended with status {started[0].returncode}; its last lines:\n{tail}")
        _version()

    retrying = Retrying(
        stop=stop_after_delay(LIMIT), wait=wait_fixed(0.3), retry=retry_if_exception_type(InfrastructureError)
    )
    try:
        retrying(once)
    except (RetryError, RuntimeError) as error:
        raise InfrastructureError(
            f"A Docker engine was started and did not answer within {LIMIT:.0f} s: {error}"
        ) from error


def _version() -> str:
    with closing(connect()) as client:
        return str(client.version()["Version"])


def _dockerd() -> str | None:
    # The PATH of an ordinary user may lack the system folders.
    return shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/usr/local/sbin:/sbin")
