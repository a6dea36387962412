"""Measures the code of several checkouts beside each other, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil


def processor_seconds() -> float:
    """Of this process and of its children, such as the JVM."""
    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measured_by(checkout: Path, script: str, *arguments: str) -> tuple[list[str], Any]:
    """What a script prints that imports the code of the checkout: its lines before the last one, which is JSON."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    call = [sys.executable, script, *arguments]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    *lines, answer = done.stdout.splitlines()
    return lines, json.loads(answer)
