"""The format of Java's properties files: lines of ``name=value`` with escapes, comments and continued lines."""

from __future__ import annotations

import re

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}

ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)

LINE = re.compile(r"((?:[^\\=:\s]|\\.)+)\s*[=:]?\s*(.*)", re.DOTALL)
"""Name and value: the separator is ``=``, ``:`` or white space."""


def parse_properties(text: str) -> dict[str, str]:
    """Values by name. The last one counts where a name comes twice, as with Java."""
    found = {}
    for line in _logical_lines(text):
        if match := LINE.fullmatch(line):
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _logical_lines(text: str) -> list[str]:
    """Without comments and empty lines. A line whose last backslash is not escaped continues on the next one."""
    lines: list[str] = []
    begun = ""
    for each in text.splitlines():
        line = each.lstrip()
        if not begun and (not line or line[0] in "#!"):
            continue
        begun += line
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        lines.append(begun)
        begun = ""
    return [*lines, begun] if begun else lines


def _unescaped(text: str) -> str:
    return ESCAPED.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else ESCAPES.get(match[2], match[2]), text
    )
