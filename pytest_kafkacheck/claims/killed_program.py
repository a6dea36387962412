"""A client in a process of its own, which says what it has done and is then killed, without a word to the brokers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from nemesis.tasks import in_thread
from pytest_kafkacheck.claims.context import ScenarioContext

LIMIT = 30.0
"""Seconds for a program to start and to do its part."""


def killed_after_a_line(context: ScenarioContext, program: str, *arguments: Any, until: str) -> Any:
    """Run a Python program until it prints a line of JSON, and return that; None if it ended without one.

    program    reads its standard input after the line. That ends with this process, and the program with it.
    arguments  a list in JSON, the program's first argument.
    until      what the line says, for the reason if none comes.
    Raises NotExercised if none comes in time.
    """
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program, json.dumps(arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        try:
            line = in_thread(process.stdout.readline, "kafkacheck-program")
            context.require(line.done, LIMIT, until)
        finally:
            process.kill()
    return json.loads(line.result() or "null")
