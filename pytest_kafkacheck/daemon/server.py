"""The daemon: carries out commands one after the other, with one Spark, until it was idle for long enough."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_kafkacheck.daemon.address import OUR_PACKAGES, make_folder, short, socket_path
from pytest_kafkacheck.spark import keep_spark
from pytest_kafkacheck.termination import announced_by

Run = Callable[[Sequence[str]], int]
"""Carries out a command with these arguments and returns its exit status."""


def serve(run: Run, *, idle: float, ready: Callable[[bytes], None]) -> None:
    """Until no command has come for `idle` seconds, or after a command that was interrupted.

    ready  called once: with ``listens``, or with ``other`` if another daemon serves this user already.
    """
    make_folder()
    path = socket_path()
    with path.with_suffix(".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            ready(b"other")
            return
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        path.unlink(missing_ok=True)  # of one that was killed
        try:
            with _Listener(path) as listener, announced_by(lambda _: None), keep_spark() as spark:
                ready(b"listens")
                while (connection := listener.next(idle)) is not None:
                    was_interrupted = _carry_out(connection, run)
                    if was_interrupted or not spark.is_started:
                        break
                    listener.is_free.set()
        finally:
            path.unlink(missing_ok=True)


class _Listener:
    """Accepts one connection at a time, and tells every other client that the daemon is busy."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        with short(path) as name:
            self._socket.bind(name)
        self._socket.listen()
        self._accepted: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        self.is_free = threading.Event()
        self.is_free.set()
        threading.Thread(target=self._accept, name="kafkacheck-daemon", daemon=True).start()

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self, seconds: float) -> socket.socket | None:
        """The next connection; None if none comes in time."""
        try:
            return self._accepted.get(timeout=seconds)
        except queue.Empty:
            return None

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            is_served = _user(connection) == os.getuid() and self.is_free.is_set()
            try:
                connection.sendall(b"r" if is_served else b"b")
            except OSError:  # the client has ended
                is_served = False
            if is_served:
                self.is_free.clear()
                self._accepted.put(connection)
            else:
                connection.close()


def _user(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[1])


def _carry_out(connection: socket.socket, run: Run) -> bool:
    """Carry out one command and tell its status. Returns whether it was interrupted, also by the client's end."""
    with connection:
        lines = connection.makefile("rb")
        try:
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
            line = lines.readline()
        except OSError:
            # A client that ends before it has read our answer resets the connection.
            line = b""
        if not line:  # the client only asked whether there is a daemon
            return False
        command = json.loads(line)
        with _as_the_client(command, descriptors), _interrupted_by(lines) as interrupts:
            status = _status(run, command["arguments"])
        with suppress(OSError):  # the client has ended
            connection.sendall(json.dumps({"status": status}).encode() + b"\n")
        return bool(interrupts)


def _status(run: Run, arguments: Sequence[str]) -> int:
    try:
        return run(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:  # after the command, which handles its own
        return 130
    except BaseException:
        traceback.print_exc()
        return 1


@contextmanager
def _interrupted_by(lines: Any) -> Iterator[list[bytes]]:
    """Interrupts the block when the client sends a line or ends; yields a list that has an item from then on."""
    seen: list[bytes] = []
    is_over = threading.Event()

    def watch() -> None:
        line = b""
        with suppress(OSError, ValueError):
            line = lines.readline()
        if not is_over.is_set():
            seen.append(line)
            # A signal to the process could go to another thread, and would not end a call that waits for the JVM.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=watch, name="kafkacheck-daemon-client", daemon=True).start()
    try:
        yield seen
    finally:
        is_over.set()


@contextmanager
def _as_the_client(command: dict[str, Any], descriptors: Sequence[int]) -> Iterator[None]:
    """With the folder, environment, path, umask and standard streams of the client. Modules of the user that the
    block imports are forgotten, since the next command may find other ones."""
    own = (Path.cwd(), dict(os.environ), list(sys.path), sys.stdin, sys.stdout, sys.stderr)
    own_descriptors = [os.dup(number) for number in range(3)]
    known = set(sys.modules)
    umask = os.umask(command["umask"])
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    try:
        os.chdir(command["folder"])
        _set_environment(command["environment"])
        sys.path[:] = command["path"]
        encoding = command["encoding"]
        with (
            open(0, encoding=encoding, closefd=False) as sys.stdin,
            open(1, "w", 1, encoding=encoding, closefd=False) as sys.stdout,
            open(2, "w", 1, encoding=encoding, closefd=False, errors="backslashreplace") as sys.stderr,
        ):
            yield
    finally:
        folder, environment, sys.path[:], sys.stdin, sys.stdout, sys.stderr = own
        os.chdir(folder)
        _set_environment(environment)
        os.umask(umask)
        for number, descriptor in enumerate(own_descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        for name in set(sys.modules) - known:
            if _is_of_user(sys.modules[name]):
                del sys.modules[name]


def _set_environment(variables: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()


def _is_of_user(module: Any) -> bool:
    """Whether the file of a module is neither of Python, nor of an installed package, nor ours."""
    file = getattr(module, "__file__", None)
    if file is None:
        return False
    return not any(
        Path(file).is_relative_to(home) for home in [Path(sys.prefix), Path(sys.base_prefix), *OUR_PACKAGES]
    )
