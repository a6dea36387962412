"""A titled table as what a console prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    marked: Sequence[bool] = (),
    right: Sequence[int] = (),
) -> Iterator[object]:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for position, heading in enumerate(headings):
        justify = "right" if position in right else "left"
        grid.add_column(Text(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for position, row in enumerate(rows):
        bold = bool(marked) and marked[position]
        grid.add_row(*(Text(cell) for cell in row), style="bold" if bold else None)
    yield Text(title, style="underline")
    yield Padding(grid, (0, 0, 0, 2), expand=False)
    yield ""
