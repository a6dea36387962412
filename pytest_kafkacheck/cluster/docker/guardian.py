"""The guardian: a process that mends an attached cluster when its session is killed.

Cuts end by themselves, because agents in the nodes' networks notice the end of their session. Nothing in a container
can thaw another one, start it, or set its clock right. So a second process on this host waits for the end of the
session: it reads its standard input, whose other end closes with the session, however that ends. A session that ends
properly says so. What the guardian does then is in `mending`.

It is in a session of its own, so that neither Ctrl-C nor a kill of the session's process group ends it as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pytest_kafkacheck.cluster.kafka.snapshot import Snapshot
from workloads.clients.security import Security

DONE = "done"

PROGRAM = f"{__package__}.mending"

ROOT = Path(__file__).resolve().parents[3]


class Guardian:
    """What a session tells its guardian."""

    def __init__(self, pipe: IO[str], security: Security | None) -> None:
        self._pipe = pipe
        self._security = security

    def remember(self, before: Snapshot) -> None:
        """Let it restore this if the session is killed. Raises BrokenPipeError when it has ended."""
        # Everybody on this host can read the arguments of a process, so the password is not one of them.
        security = self._security.to_json() if self._security else None
        self._pipe.write(json.dumps({"before": before.to_json(), "security": security}) + "\n")
        self._pipe.flush()


@contextmanager
def guarded(what: str, containers: Iterable[str], *, security: Security | None = None) -> Iterator[Guardian]:
    """While the block runs, a guardian watches over these containers. It ends with the block.

    what, security  the cluster, and how clients connect, as `attach.attached` takes them.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", PROGRAM, what, json.dumps(list(containers))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    assert process.stdin is not None
    try:
        yield Guardian(process.stdin, security)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.write(DONE)
            process.stdin.close()
        process.wait()
