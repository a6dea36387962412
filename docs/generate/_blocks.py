"""Generated parts of pages that people write: everything between two marker comments is replaced."""

from __future__ import annotations

import re


def replaced(text: str, name: str, body: str) -> str:
    """The page with `body` between ``<!-- generated: NAME -->`` and ``<!-- end: NAME -->``.

    Raises ValueError where the page does not contain exactly one such pair of markers.
    """
    begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
    pattern = re.compile(rf"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"expected one block between {begin.strip()} and {end}")
    return pattern.sub(lambda _: f"\n{body.strip()}\n\n", text)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table. A bar inside a cell is escaped."""
    lines = [_line(header), f"|{'---|' * len(header)}", *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
