"""Runs a command that the kernel kills with its parent: ``python -I -S bound_command.py PARENT GROUPS COMMAND...``.

A program that knows nothing of us cannot ask the kernel for that itself. The request survives exec. Before that, the
process enters the control groups GROUPS: folders, with colons between them, or nothing. Imports nothing
of this package, because an application waits for it at each start.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

PARENT_DEATH = str(Path(__file__).with_name("parent_death.py"))

NOT_STARTED = 127
"""Exit status of a command that cannot be started, as shells have it."""


def main(arguments: list[str]) -> int:
    """Only returns where the command cannot be started."""
    parent, groups, *command = arguments
    runpy.run_path(PARENT_DEATH)["end_with_parent"](int(parent))
    try:
        for group in filter(None, groups.split(os.pathsep)):
            (Path(group) / "cgroup.procs").write_text("0")
    except OSError as error:
        sys.stderr.write(f"the control group {group} cannot be entered: {error.strerror}\n")
        return NOT_STARTED
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]!r} cannot be started: {error.strerror}\n")
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
