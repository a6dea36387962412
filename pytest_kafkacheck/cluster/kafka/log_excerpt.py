"""The lines of a node's log that tell why it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence

LAST = 15
"""Lines at the end of a log that are shown."""

ERRORS = 5
"""Errors before the last lines that are shown: the last ones, because the end of the process follows from them."""

_ERROR = re.compile(r"^\S+ (ERROR|FATAL) ")
_CAUSE = re.compile(r"^(Caused by: |[\w.$]+(Exception|Error)(: |$))")


def excerpt(log: bytes) -> str:
    """The last errors with their exceptions, and the last lines. A node that shuts down in order writes many lines
    after the error for which it does so."""
    lines = log.decode(errors="replace").splitlines()
    errors = _errors(lines[:-LAST])
    last = "\n".join(lines[-LAST:])
    if not errors:
        return f"its last lines:\n{last}"
    return "\n".join(["its last errors:", *errors, "its last lines:", last])


def _errors(lines: Sequence[str]) -> list[str]:
    found: list[list[str]] = []
    is_open = False
    for line in lines:
        if _ERROR.match(line):
            found.append([line])
            is_open = True
        elif is_open and _CAUSE.match(line):
            found[-1].append(line)
        elif not line.startswith(("\t", " ")):
            is_open = False
    return [line for each in found[-ERRORS:] for line in each]
