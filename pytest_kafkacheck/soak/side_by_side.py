"""A soak on several clusters: a process for each, all of which have one state.

Processes and not threads: only the main thread of a process can be interrupted, and Spark belongs to a process. Each
runs the same command, takes its rounds by number (see `draw.Part`), and adds them to the same ``soak.json``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from pytest_kafkacheck.errors import InfrastructureError
from pytest_kafkacheck.soak.draw import Part
from workloads.workers.parent_death import PARENT, end_with_parent, spawn

CLUSTER = "KAFKACHECK_SOAK_CLUSTER"
"""Environment variable of such a process: the number of its cluster."""

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds our packages."""

END_LIMIT = 60.0
"""Seconds for a process to heal all faults and remove its cluster after SIGTERM. It takes 5 on a quiet machine."""


def own_part(clusters: int) -> Part | None:
    """The part of this process, where `run_side_by_side` has started it. Then it ends with the one that did."""
    if (number := os.environ.pop(CLUSTER, None)) is None:
        return None
    end_with_parent(int(os.environ.pop(PARENT)))
    return Part(int(number), clusters)


def run_side_by_side(
    command: Sequence[str], clusters: int, *, write: Callable[[str], object] = sys.stderr.write
) -> None:
    """Run a command for each cluster, until all have ended. An interrupt interrupts them.

    command  arguments of Python.
    write    takes their lines of progress, each with the number of its cluster.
    Raises InfrastructureError when one of them has failed. The others go on until their own end.
    """
    children: dict[int, subprocess.Popen[str]] = {}
    relays = []
    try:
        for number in range(1, clusters + 1):
            children[number] = _start(command, number)
            relays.append(_relay(children[number], f"[{number}]", write))
        for child in children.values():
            child.wait()
    finally:
        _end(list(children.values()))
        for relay in relays:
            relay.join()
    if failed := {number: child.returncode for number, child in children.items() if child.returncode}:
        raise InfrastructureError(
            "; ".join(
                f"cluster {number} of {clusters} ended with status {status}, see the lines that begin with [{number}]"
                for number, status in failed.items()
            )
        )


def _start(command: Sequence[str], number: int) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return spawn(
        # -P and our root first: a folder of the user named workloads must not be imported instead of ours.
        [sys.executable, "-P", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, PARENT: str(os.getpid()), CLUSTER: str(number)},
        # Ctrl-C goes to this process, which interrupts each of them once.
        start_new_session=True,
    )


def _relay(child: subprocess.Popen[str], prefix: str, write: Callable[[str], object]) -> threading.Thread:
    stream = child.stderr
    assert stream is not None
    thread = threading.Thread(target=_copy, args=(stream, prefix, write), name="kafkacheck-soak", daemon=True)
    thread.start()
    return thread


def _copy(stream: TextIO, prefix: str, write: Callable[[str], object]) -> None:
    with stream:
        for line in stream:
            write(f"{prefix} {line.strip()}\n")


def _end(children: Sequence[subprocess.Popen[str]]) -> None:
    """Interrupt those that still run, and wait for their end."""
    for child in children:
        if child.poll() is None:
            child.terminate()
    for child in children:
        try:
            child.wait(END_LIMIT)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
