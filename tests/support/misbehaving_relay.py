"""Relays the lines of another client, and misbehaves after some seconds: MODE SECONDS COMMAND...

Modes: "dies", "garbage" (a line that is no JSON), "out-of-turn" (an answer with another id), "silent" (it writes no
more). Only producers misbehave; the lines of others are relayed as they are. Imports nothing of this package.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any


def main(mode: str, seconds: str, *command: str) -> None:
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert child.stdin is not None
    assert child.stdout is not None
    began = time.monotonic()
    is_producer = threading.Event()
    threading.Thread(target=_forward, args=(child.stdin, is_producer), daemon=True).start()
    for line in child.stdout:
        if is_producer.is_set() and time.monotonic() - began > float(seconds):
            line = _misbehave(mode, line)
        sys.stdout.write(line)
        sys.stdout.flush()


def _forward(out: Any, is_producer: threading.Event) -> None:
    for line in sys.stdin:
        if '"role":"producer"' in line:
            is_producer.set()
        out.write(line)
    out.close()


def _misbehave(mode: str, line: str) -> str:
    if mode == "dies":
        sys.stderr.write("java.lang.OutOfMemoryError: Java heap space\n")
        sys.stderr.flush()
        sys.exit(1)
    if mode == "garbage":
        return "[main] WARN a library prints to standard output\n"
    if mode == "out-of-turn":
        return json.dumps({"id": 7}) + "\n"
    time.sleep(3600)
    return line


if __name__ == "__main__":
    main(*sys.argv[1:])
