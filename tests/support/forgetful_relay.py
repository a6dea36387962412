"""Relays the lines of a client of a share group, and loses records: COMMAND...

Of some records that a poll returns, nobody hears, and they are accepted with the next acknowledgement, as by an
application that acknowledges what it has not processed. Imports nothing of this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

EVERY = 20
"""One of so many offsets is lost, unless a poll returned nothing else."""


def main(*command: str) -> None:
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert child.stdin is not None
    assert child.stdout is not None
    lost: list[dict[str, Any]] = []
    threading.Thread(target=_forward, args=(child.stdin, lost), daemon=True).start()
    for line in child.stdout:
        sys.stdout.write(_without(line, lost) if '"records"' in line else line)
        sys.stdout.flush()


def _forward(out: Any, lost: list[dict[str, Any]]) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "acknowledge":
            # An answer comes before the next request: both threads never use the list at a time.
            request["records"] += lost
            lost.clear()
        out.write(json.dumps(request) + "\n")
        out.flush()
    out.close()


def _without(line: str, lost: list[dict[str, Any]]) -> str:
    answer = json.loads(line)
    kept = [each for each in answer["records"] if each["offset"] % EVERY]
    if kept and "positions" not in answer:
        names = ("topic", "partition", "offset")
        lost += (
            {name: each[name] for name in names} | {"type": "accept"}
            for each in answer["records"]
            if each not in kept
        )
        answer["records"] = kept
    return json.dumps(answer) + "\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
