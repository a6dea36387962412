"""Hands a command over to the daemon, and starts one if there is none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_kafkacheck.daemon.address import folder, is_wanted, make_folder, short, socket_path
from pytest_kafkacheck.errors import InfrastructureError

if TYPE_CHECKING:
    import argparse

START_LIMIT = 30.0
"""Seconds for a new daemon to listen. Spark starts later, with the first command that needs it."""

ANSWER_LIMIT = 5.0
"""Seconds for a daemon to say whether it is busy."""

INTERRUPT_LIMIT = 15.0
"""Seconds for an interrupted command to clean up."""


def is_for_the_daemon(options: argparse.Namespace) -> bool:
    """Whether the options leave Spark as the daemon starts it. Raises UsageError for a wrong value of the switch."""
    is_default = options.spark_master == "local[*]" and not options.spark_conf and not options.plain_spark
    return is_default and not options.no_daemon and is_wanted()


def carry_out(arguments: Sequence[str]) -> int | None:
    """The exit status of this command, carried out by the daemon; None if there is no daemon that is free.

    Ctrl-C is passed on. Raises InfrastructureError if the daemon ended meanwhile.
    """
    connection = _connection()
    if connection is None:
        return None
    with connection:
        _send(connection, arguments)
        try:
            return _status(connection)
        except KeyboardInterrupt:
            # Its command ends as an interrupted one does, and says so.
            with suppress(OSError):  # the daemon has ended, which `_status` says
                connection.sendall(b"interrupt\n")
            connection.settimeout(INTERRUPT_LIMIT)
            try:
                return _status(connection)
            except TimeoutError:
                raise KeyboardInterrupt from None


def _connection() -> socket.socket | None:
    """To a daemon that is free; it waits for a command."""
    path = socket_path()
    found = _connected(path)
    if found is None and _start(path):
        found = _connected(path)
    if found is None:
        return None
    found.settimeout(ANSWER_LIMIT)
    try:
        is_free = found.recv(1) == b"r"
    except OSError:
        is_free = False
    if not is_free:
        found.close()
        return None
    found.settimeout(None)
    return found


def _connected(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        with short(path) as name:
            connection.connect(name)
    except OSError:
        connection.close()
        return None
    return connection


def _start(path: Path) -> bool:
    """Start a daemon, and wait until it listens. Of two that start at once, one remains, which serves both."""
    make_folder()
    paths = [str(Path(each).resolve()) for each in sys.path if each]
    ready, written = os.pipe()
    try:
        with path.with_suffix(".log").open("wb") as log:
            subprocess.Popen(
                [sys.executable, "-m", "pytest_kafkacheck", "daemon", "--serve", "--ready", str(written)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder(),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                pass_fds=[written],
                start_new_session=True,
            )
    except OSError:
        os.close(ready)
        return False
    finally:
        os.close(written)
    with os.fdopen(ready, "rb") as pipe:
        return _has_input(pipe.fileno()) and pipe.read() == b"listens"


def _has_input(descriptor: int) -> bool:
    import select

    return bool(select.select([descriptor], [], [], START_LIMIT)[0])


def _send(connection: socket.socket, arguments: Sequence[str]) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    socket.send_fds(connection, [b"f"], [0, 1, 2])
    mask = os.umask(0o077)
    os.umask(mask)
    command = {
        "arguments": list(arguments),
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "path": sys.path,
        "umask": mask,
        "encoding": sys.stdout.encoding,
    }
    connection.sendall(json.dumps(command).encode() + b"\n")


def _status(connection: socket.socket) -> int:
    with connection.makefile("rb") as lines:
        try:
            answer = lines.readline()
        except ConnectionError:  # it was killed
            answer = b""
    if not answer:
        raise InfrastructureError(
            f"the daemon that carried out this command ended; the end of {socket_path().with_suffix('.log')} may "
            "say why. Run the command again, or with --no-daemon"
        )
    return int(json.loads(answer)["status"])
