"""A client process: it is started, asked in turn, watched, and ended.

A thread reads what it writes. An answer belongs to the one request that is under way; completions of records may come
at any time. Everything else is a failure of the client: `ClientFailure`.
"""

from __future__ import annotations

import fcntl
import os
import queue
import select
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import msgspec

from workloads import user_program
from workloads.clients.command.messages import Done, Hello, Line, Refusal, parse_hello

T = TypeVar("T")

HELLO_LIMIT = 60.0
"""Seconds for its first line: several virtual machines of Java may start at the same time, on two cores."""

GRACE = 30.0
"""Seconds beyond the time that a request may take by its own words. Clients look up coordinators on the way."""

SLICE = 1.0
"""Seconds of one wait. A limit counts slices, because a fault may stop this process and the client for longer."""

LONGEST_LINE = 256 << 20
"""Bytes."""

PIPE = 1 << 20
"""Bytes of the pipe from the client, the most that every user may have. With 64 KiB, the default, the client writes
the answer to a poll in several turns with this process."""

LINES = msgspec.json.Decoder(Line)

END_LIMIT = 5.0
"""Seconds for a process to be gone after SIGKILL, and for its status after the end of its output."""


Release = Callable[["ClientProcess"], None]
"""Takes a process whose client is closed, for the next client."""


class ClientFailure(Exception):
    """A client ended, hangs, or does not keep to the protocol: what it did is unknown from then on.

    The text is one line with the command, what happened, and the client's last output. A worker process reports it as
    its problem and ends, so that the run is never valid.
    """


class ClientProcess:
    """Starts on construction. `hello` has to be awaited before the first request.

    log   its standard error is appended to this file.
    name  in messages; None: the command.
    done  takes the completions of records, on a thread of this object.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        name: str | None = None,
        done: Callable[[list[Done], int], None] | None = None,
    ) -> None:
        self._log = log
        self._name = user_program.shortened(shlex.join(command)) if name is None else name
        self._done = done
        self._answers: queue.SimpleQueue[tuple[Line, bytes] | None] = queue.SimpleQueue()
        """Each line with what it has in common with the others."""
        self._failure: str | None = None
        self._ends = False
        self._number = 0
        self._awaited: tuple[int | None, str] | None = None
        self._lock = threading.Lock()
        self._began = time.monotonic_ns()
        env = user_program.environment(os.environ)
        if reason := user_program.why_not(command[0], env):
            raise ClientFailure(f"client {self}: {reason}")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            self._since = errors.tell()
            self._process = subprocess.Popen(
                user_program.bound(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=PIPE,
                stderr=errors,
                env=env,
            )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        assert self._process.stdout is not None
        with suppress(AttributeError, OSError):  # Only Linux has it, and 64 such pipes for each user.
            fcntl.fcntl(self._process.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE)
        self._reader = threading.Thread(target=self._read, name=f"client {command[0]}", daemon=True)
        self._reader.start()

    def __str__(self) -> str:
        return repr(self._name)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def failure(self) -> str | None:
        """In one line; None while it works."""
        return self._failure

    def listen(self, done: Callable[[list[Done], int], None] | None) -> None:
        """Who takes completions from now on. Without anybody, a completion is a failure."""
        self._done = done

    def hello(self) -> Hello:
        """Its first line. Raises ClientFailure."""
        _, line = self._await(HELLO_LIMIT, "its hello")
        try:
            return parse_hello(msgspec.json.decode(line), began=self._began, now=time.monotonic_ns())
        except ValueError as error:
            raise self.fail(str(error)) from None

    @overload
    def call(self, do: str, form: type[T], /, *, limit: float = 0.0, **fields: Any) -> T: ...
    @overload
    def call(self, do: str, /, *, limit: float = 0.0, **fields: Any) -> dict[str, Any]: ...
    def call(self, do: str, form: Any = dict[str, Any], /, *, limit: float = 0.0, **fields: Any) -> Any:
        """Ask, and return the answer. limit: seconds that the request itself allows.

        form  the type of the answer, see `messages`.

        Raises Refusal for an answer with an error, and ClientFailure, also for one that has another form.
        """
        self._number += 1
        with self._lock:
            self._awaited = (self._number, do)
        self.write({"id": self._number, "do": do, **fields})
        return self._answer(limit, do, form)

    def _answer(self, limit: float, do: str, form: Any = dict[str, Any]) -> Any:
        line, whole = self._await(limit + GRACE, f"its answer to {do!r}")
        if line.error is not None:
            raise Refusal(line.error)
        try:
            return msgspec.json.decode(whole, type=form)
        except msgspec.ValidationError as error:
            raise self.fail(
                f"gave an answer to {do!r} that is not in the form of the protocol: {error}"
            ) from None

    def provoke(self, line: str) -> dict[str, Any]:
        """Write a line that is no request, and return the answer. Raises as `call`."""
        with self._lock:
            self._awaited = (None, "no request")
        self.write_line(line.encode())
        answer: dict[str, Any] = self._answer(0.0, "no request")
        return answer

    def tell(self, do: str, **fields: Any) -> None:
        """A request without an answer."""
        self._number += 1
        self.write({"id": self._number, "do": do, **fields})

    def write(self, message: dict[str, Any]) -> None:
        """Raises ClientFailure where it does not read it."""
        self.write_line(msgspec.json.encode(message))

    def write_line(self, line: bytes) -> None:
        data = memoryview(line + b"\n")
        assert self._process.stdin is not None
        file = self._process.stdin.fileno()
        waited = 0.0
        while data:
            self.check()
            try:
                data = data[os.write(file, data) :]
            except BlockingIOError:
                if not select.select([], [file], [], SLICE)[1]:
                    waited += SLICE
                if waited > GRACE:
                    raise self.fail(f"has not read its input for {GRACE:.0f} s") from None
            except OSError:
                # It has ended. The thread that reads says how.
                self._reader.join(END_LIMIT)
                raise self.fail("has closed its input") from None

    def fail(self, text: str) -> ClientFailure:
        """Note a failure, end the process, and return the exception of the first failure."""
        self._note(text)
        with suppress(ProcessLookupError):
            self._process.kill()
        assert self._failure is not None
        return ClientFailure(self._failure)

    def check(self) -> None:
        """Raises ClientFailure if it has failed."""
        if self._failure is not None:
            raise ClientFailure(self._failure)

    def kill(self) -> None:
        """End it. What it wrote and was not taken is lost."""
        self._ends = True
        self._process.kill()
        self.join()

    def end(self, limit: float = 2.0) -> None:
        """Let it end by the end of its input; kill it after `limit` seconds."""
        self.end_input()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit)
        self._process.kill()
        self.join()

    def join(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_LIMIT)
        self.end_input()
        self._reader.join(END_LIMIT)

    def end_input(self) -> None:
        """Nothing is asked any more: the process has to end."""
        self._ends = True
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _await(self, limit: float, what: str) -> tuple[Line, bytes]:
        slices = max(1, round(limit / SLICE))
        for _ in range(slices):
            try:
                answer = self._answers.get(timeout=SLICE)
            except queue.Empty:
                continue
            if answer is None:
                break
            return answer
        self.check()
        raise self.fail(f"has not written {what} within {limit:.0f} s")

    def _note(self, text: str) -> None:
        with self._lock:
            if self._failure is None:
                output = user_program.last_output(self._log, since=self._since)
                self._failure = f"client {self} {text}; {output}"
        self._answers.put(None)

    # The following methods run on the thread that reads.

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            is_first = True
            while line := lines.readline(LONGEST_LINE):
                if (problem := self._take(line, time.monotonic_ns(), is_first=is_first)) is not None:
                    self.fail(problem)
                    break
                is_first = False
        if self._ends or self._failure is not None:
            return
        try:
            status = user_program.described(self._process.wait(END_LIMIT))
        except subprocess.TimeoutExpired:
            self.fail("has closed its output")
            return
        self.fail(
            f"ended by itself with {status}{'' if self._awaited is None else f' during {self._awaited[1]!r}'}"
        )

    def _take(self, line: bytes, now: int, *, is_first: bool) -> str | None:
        """Deliver a line. Returns what is wrong with it, or None."""
        try:
            message = LINES.decode(line)
        except msgspec.ValidationError as error:
            if not line.lstrip().startswith(b"{"):
                return f"wrote a line that is no JSON object: {_shown(line)}"
            return f"wrote a line that is not in the form of the protocol, {error}: {_shown(line)}"
        except (msgspec.DecodeError, UnicodeDecodeError):
            return f"wrote a line that is no JSON object: {_shown(line)}"
        if is_first:
            self._answers.put((message, line))
            return None
        if message.done is not msgspec.UNSET:
            if self._done is None:
                return f"completed records, and none were under way: {_shown(line)}"
            self._done(message.done, now)
            return None
        with self._lock:
            awaited, self._awaited = self._awaited, None
        if awaited is None:
            return f"answered out of turn, when no request was under way: {_shown(line)}"
        if message.id != awaited[0]:
            return f"answered out of turn, while request {awaited[0]} ({awaited[1]}) was under way: {_shown(line)}"
        self._answers.put((message, line))
        return None


def _shown(line: bytes) -> str:
    return user_program.readable(user_program.shortened(line.decode(errors="replace").strip()))
