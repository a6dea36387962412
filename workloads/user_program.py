"""Programs of the user: how they are started so that they end with their parent, and what they printed last."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

LAST_BYTES = 8192
"""Of its output, in which its last lines are looked for."""

LONGEST = 300
"""Characters of its last output that are cited."""

ROOT = Path(__file__).resolve().parents[1]

BOUND_COMMAND = ROOT / "workloads" / "workers" / "parent_death.py"
"""Runs a command that ends with its parent. By its path: it has to start without this package."""


def bound(command: Sequence[str], groups: Iterable[Path] = ()) -> list[str]:
    """The command, started so that it ends with this process. Start it from a thread that lives as long as this
    process: the kernel takes that thread for the parent. groups: folders of control groups that it enters first."""
    entered = os.pathsep.join(map(str, groups))
    return [sys.executable, "-I", "-S", str(BOUND_COMMAND), str(os.getpid()), entered, *command]


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The environment of the harness, without what it sets for its workers."""
    env = dict(ours)
    first, _, rest = env.get("PYTHONPATH", "").partition(os.pathsep)
    if first == str(ROOT):
        env.pop("PYTHONPATH")
        env |= {"PYTHONPATH": rest} if rest else {}
    return env


def why_not(program: str, env: Mapping[str, str]) -> str | None:
    """Why the program cannot be started; None where nothing is known against it."""
    if shutil.which(program, path=env.get("PATH")) is None:
        return f"there is no program {program!r} that can be executed, seen from {Path.cwd()}"
    return None


def shortened(text: str) -> str:
    return text if len(text) < LONGEST else text[:LONGEST] + "..."


def last_output(log: Path, *, since: int = 0) -> str:
    """The last line that a program printed into this file, as a clause. since: the size of the file before it ran."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, log.stat().st_size - LAST_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
    except OSError:
        lines = []
    last = next((line.strip() for line in reversed(lines) if line.strip()), None)
    if last is None:
        return "it printed nothing"
    return f"its last output: {readable(last)[-LONGEST:]}"


def readable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def described(status: int | None) -> str:
    """An exit status as `subprocess.Popen.returncode` has it."""
    return f"status {status}" if status is None or status >= 0 else f"signal {-status}"
