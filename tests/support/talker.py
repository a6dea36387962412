"""A role that talks to its brokers without a client library: by itself, and by a program that it starts."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import suppress

from workloads.roles.context import WorkerContext
from workloads.user_program import bound

PROGRAM = """
import socket, sys, time
while True:
    for each in sys.argv[1:]:
        host, port = each.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), timeout=0.3) as made:
                made.sendall(b"program")
        except OSError:
            pass
    time.sleep(0.05)
"""


def talk(context: WorkerContext) -> None:
    """Connect to each broker again and again, and send a name: ``worker``, or ``program``."""
    context.ready()
    program = subprocess.Popen(bound([sys.executable, "-c", PROGRAM, *map(str, context.bootstrap)]))
    while not context.stop.wait(0.05):
        for address in context.bootstrap:
            with suppress(OSError), socket.create_connection(address[:2], timeout=0.3) as made:
                made.sendall(b"worker")
    program.kill()
    program.wait()
