"""Runs one command in a running container, with its complete output and its exit status.

docker-py's ``exec_start`` reads from the socket below the HTTP response. It loses output that arrives in the same
packet as the response's header, which happens now and then on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HEAD = 8
"""Bytes before each piece of output: the number of its stream, three without use, and four with its length."""

STANDARD_ERROR = 2
BLOCK = 1 << 20

ENDED_LIMIT = 5.0
"""Seconds after the end of a command's output within which the engine must know its exit status."""


def execute(
    api: Any,
    container: str,
    command: Sequence[str],
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Exit status and output; standard output and standard error are merged.

    timeout  seconds without any output after which the engine counts as hung. The command must limit itself.
    Raises APIError where the container does not run, OSError when no answer comes.
    """
    run = api.exec_create(container, list(command), environment=dict(environment or {}))["Id"]
    # Without a request to upgrade the connection, the response is ordinary HTTP and is read completely.
    answer = api._post_json(
        api._url("/exec/{0}/start", run), data={"Tty": False, "Detach": False}, timeout=timeout
    )
    api._raise_for_status(answer)
    output = _joined(answer.content)
    return _status(api, run, command, container), output.decode(errors="replace")


def output_of(api: Any, container: str, command: Sequence[str], *, timeout: float) -> Iterator[bytes]:
    """The standard output of a shell command, while it arrives, for output that is too large for the memory.

    Raises OSError, with what it wrote to standard error, where it fails, and as `execute`.
    """
    run = api.exec_create(container, list(command))["Id"]
    answer = api._post_json(
        api._url("/exec/{0}/start", run), data={"Tty": False, "Detach": False}, timeout=timeout, stream=True
    )
    api._raise_for_status(answer)
    errors = b""
    read = answer.raw.read
    while len(head := read(HEAD)) == HEAD:
        left = int.from_bytes(head[4:], "big")
        while left and (piece := read(min(left, BLOCK))):
            left -= len(piece)
            if head[0] == STANDARD_ERROR:
                errors += piece
            else:
                yield piece
    if status := _status(api, run, command, container):
        raise OSError(f"{command[-1]}: status {status}: {errors.decode(errors='replace').strip()}")


def _status(api: Any, run: str, command: Sequence[str], container: str) -> int:
    """The exit status of a command that has closed its output."""
    deadline = time.monotonic() + ENDED_LIMIT
    while (state := api.exec_inspect(run))["Running"] or state["ExitCode"] is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{command[0]} in {container} closed its output, but has not ended")
        time.sleep(0.01)
    return int(state["ExitCode"])


def _joined(frames: bytes) -> bytes:
    """The data of all pieces of output."""
    parts, at = [], 0
    while at + HEAD <= len(frames):
        size = int.from_bytes(frames[at + 4 : at + HEAD], "big")
        parts.append(frames[at + HEAD : at + HEAD + size])
        at += HEAD + size
    return b"".join(parts)
