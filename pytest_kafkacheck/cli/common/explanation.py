"""An explanation as what a console prints: its headline, its timeline and its tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from analyzers.explain.explanation import Explanation
from pytest_kafkacheck.cli.common.table import table


def parts(explanation: Explanation) -> Iterator[object]:
    """What the console prints, in order."""
    title = f"{explanation.anomaly}/{explanation.number} of {explanation.count:,}: {explanation.summary}"
    yield Text(title, style="bold red", end="\n")
    subject = "" if explanation.subject is None else f", {explanation.subject}"
    facts = ", ".join(f"{name.replace('_', ' ')} {fact}" for name, fact in explanation.facts.items())
    yield f"  run {explanation.run}{subject}: {facts}"
    yield ""
    yield from table(
        "Timeline",
        ("s", "who", "what"),
        [("?" if m.time is None else f"{m.time:.3f}", m.who, m.what) for m in explanation.line],
        marked=[m.who == "finding" for m in explanation.line],
        right=(0,),
    )
    for each in explanation.tables:
        marked = [position in each.marked for position in range(len(each.rows))]
        right = [position for position, heading in enumerate(each.headings) if heading == "offset"]
        yield from table(each.title, each.headings, each.rows, marked=marked, right=right)
    if explanation.slots:
        yield from table(
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
        yield from table(
            "Readers near the finding, with records in the order read",
            ("who", "offset=value"),
            explanation.readers,
        )
    yield from (f"  {note}" for note in explanation.notes)
    if explanation.notes:
        yield ""
