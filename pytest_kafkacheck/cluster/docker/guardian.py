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

DONE = "done"

PROGRAM = f"{__package__}.mending"

ROOT = Path(__file__).resolve().parents[3]


class Guardian:
    """What a session tells its guardian."""

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe

    def remember(self, before: Snapshot) -> None:
        """Let it restore this if the session is killed. Raises BrokenPipeError when it has ended."""
        self._pipe.write(json.dumps(before.to_json()) + "\n")
        self._pipe.flush()


@contextmanager
def guarded(what: str, containers: Iterable[str]) -> Iterator[Guardian]:
    """While the block runs, a guardian watches over these containers. It ends with the block.

    what  the cluster, as `attach.attached` takes it.
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
        yield Guardian(process.stdin)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.write(DONE)
            process.stdin.close()
        process.wait()
