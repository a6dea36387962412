"""One command in a running container, with all of its output and its status.

docker-py's own ``exec_start`` reads from the socket behind the engine's answer: output that came in one piece with
the answer's head is lost, which on a busy machine happens now and then.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

ENDED_LIMIT = 5.0
"""Seconds between the end of a command's output and the moment the engine knows its status."""


def execute(
    api: Any,
    container: str,
    command: Sequence[str],
    *,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Exit status and output, both streams in one.

    timeout  seconds without any output after which the engine counts as hung: the command limits itself.
    Raises APIError where the container does not run, OSError when no answer comes.
    """
    run = api.exec_create(container, list(command), environment=dict(environment or {}))["Id"]
    # Without the request for an upgrade it is an ordinary answer, and read as one.
    answer = api._post_json(
        api._url("/exec/{0}/start", run), data={"Tty": False, "Detach": False}, timeout=timeout
    )
    api._raise_for_status(answer)
    output = _joined(answer.content)
    deadline = time.monotonic() + ENDED_LIMIT
    while (state := api.exec_inspect(run))["Running"] or state["ExitCode"] is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{command[0]} in {container} closed its output, but has not ended")
        time.sleep(0.01)
    return int(state["ExitCode"]), output.decode(errors="replace")


def _joined(frames: bytes) -> bytes:
    """The data of frames: 1 byte which stream, 3 unused, 4 length, then data."""
    parts, at = [], 0
    while at + 8 <= len(frames):
        size = int.from_bytes(frames[at + 4 : at + 8], "big")
        parts.append(frames[at + 8 : at + 8 + size])
        at += 8 + size
    return b"".join(parts)
