"""An explanation as what a console prints: its headline, its timeline and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analyzers.explain.explanation import Explanation


def parts(explanation: Explanation) -> Iterator[object]:
    """What the console prints, in order."""
    title = f"{explanation.anomaly}/{explanation.number} of {explanation.count:,}: {explanation.summary}"
    yield Text(title, style="bold red", end="\n")
    subject = "" if explanation.subject is None else f", {explanation.subject}"
    facts = ", ".join(f"{name.replace('_', ' ')} {fact}" for name, fact in explanation.facts.items())
    yield f"  run {explanation.run}{subject}: {facts}"
    yield ""
    yield from _table(
        "Timeline",
        ("s", "who", "what"),
        [("?" if m.time is None else f"{m.time:.6f}", m.who, m.what) for m in explanation.line],
        marked=[m.who == "finding" for m in explanation.line],
        right=(0,),
    )
    for table in explanation.tables:
        marked = [position in table.marked for position in range(len(table.rows))]
        right = [position for position, heading in enumerate(table.headings) if heading == "offset"]
        yield from _table(table.title, table.headings, table.rows, marked=marked, right=right)
    if explanation.slots:
        yield from _table(
            f"The log near the finding ({explanation.log})",
            ("", "offset", "value", "epoch", "written", "read by"),
            [
                (
                    ">" if slot.focus else "",
                    str(slot.offset),
                    slot.value or "(nothing seen)",
                    "" if slot.epoch is None else str(slot.epoch),
                    slot.written,
                    slot.read,
                )
                for slot in explanation.slots
            ],
            marked=[slot.focus for slot in explanation.slots],
            right=(1, 3),
        )
    if explanation.readers:
        yield from _table(
            "Readers near the finding, with records in the order read",
            ("who", "offset=value"),
            explanation.readers,
        )
    yield from (f"  {note}" for note in explanation.notes)
    if explanation.notes:
        yield ""


def _table(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    marked: Sequence[bool] = (),
    right: Sequence[int] = (),
) -> Iterator[object]:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for position, heading in enumerate(headings):
        justify = "right" if position in right else "left"
        table.add_column(Text(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for position, row in enumerate(rows):
        bold = bool(marked) and marked[position]
        table.add_row(*(Text(cell) for cell in row), style="bold" if bold else None)
    yield Text(title, style="underline")
    yield Padding(table, (0, 0, 0, 2), expand=False)
    yield ""
