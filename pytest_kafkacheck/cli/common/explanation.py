"""An explanation, or the story of a stored verdict, as what a console prints."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from analyzers.causes.story import since_fault, story
from analyzers.explain.overview import Moment, timeline
from analyzers.history.surroundings import Clock, Unit
from analyzers.verdict.verdict import Verdict
from analyzers.verdict.wording import scale_of
from pytest_kafkacheck.cli.common.console import table
from pytest_kafkacheck.experiment.run_directory import RunDirectory

if TYPE_CHECKING:
    from analyzers.explain.explanation import Explanation  # which loads PySpark; a stored verdict needs none


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


def time_line(moments: Sequence[Moment], unit: Unit = "s") -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and rows; with a column of times since the fault before, where a fault is among them."""
    scale = scale_of((each.time for each in moments), unit)
    times = ["?" if each.time is None else scale.text(each.time).rpartition(" ")[0] for each in moments]
    if not any(each.is_fault for each in moments):
        rows = [(time, each.who, each.what) for time, each in zip(times, moments, strict=True)]
        return (unit, "who", "what"), [*rows]
    since = since_fault(moments, scale)
    return (unit, "since fault", "who", "what"), [
        (time, after, each.who, each.what) for time, after, each in zip(times, since, moments, strict=True)
    ]


def verdict_parts(verdict: Verdict, home: RunDirectory) -> Iterator[object]:
    """What the console prints, in order."""
    if not verdict.findings:
        if verdict.unknowns:
            yield "No anomaly was found. The verdict is unknown:"
            yield from (f"  {reason}" for reason in verdict.unknowns)
        else:
            yield "Nothing to explain: no anomaly was found."
        return
    head, _, rest = story(verdict).partition("\n")
    yield Text(head, style="bold red", end="\n")
    yield rest
    yield ""
    anchor = home.read_clock()
    clock = (
        None
        if anchor is None or verdict.began is None
        else Clock(monotonic=anchor[0], unix=anchor[1], began=verdict.began)
    )
    for cause in verdict.causes:
        moments, notes = timeline(cause, home.node_logs(), clock)
        where = f" of {', '.join(cause.logs)}" if cause.logs else ""
        headings, rows = time_line(moments, verdict.unit)
        right = range(headings.index("who"))
        yield from table(f"Time line: {cause.title}{where}", headings, rows, right=right)
        yield from (f"  {note}" for note in notes)
    yield verdict.text()
    yield ""
    place = shlex.quote(str(home.path))
    yield f"The rows of the history around one finding: kafkacheck explain {place} {verdict.findings[0].anomaly}/1"
