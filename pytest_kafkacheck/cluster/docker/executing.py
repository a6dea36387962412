"""Runs one command in a running container, with its complete output and its exit status.

docker-py's ``exec_start`` reads from the socket below the HTTP response. It loses output that arrives in the same
packet as the response's header, which happens now and then on a busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

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
    deadline = time.monotonic() + ENDED_LIMIT
    while (state := api.exec_inspect(run))["Running"] or state["ExitCode"] is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{command[0]} in {container} closed its output, but has not ended")
        time.sleep(0.01)
    return int(state["ExitCode"]), output.decode(errors="replace")


def _joined(frames: bytes) -> bytes:
    """The data of all frames. A frame is 1 byte stream number, 3 unused, 4 length, data."""
    parts, at = [], 0
    while at + 8 <= len(frames):
        size = int.from_bytes(frames[at + 4 : at + 8], "big")
        parts.append(frames[at + 8 : at + 8 + size])
        at += 8 + size
    return b"".join(parts)
