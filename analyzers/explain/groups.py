"""What a group was told and what it committed, around a finding about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Row

from analyzers.anomalies.groups import GROUPS
from analyzers.explain.evidence import groups as evidence
from analyzers.explain.evidence.log import Log
from analyzers.explain.explanation import Clock, Entry, Surroundings, Table
from analyzers.history.load import History

NAMES = frozenset(anomaly.name for anomaly in GROUPS)

COMMITTED = ("committed", "reached")
"""Evidence that is an offset which was committed earlier."""

ENDS = ("revoked", "lost", "left", "fenced")


def of_group(history: History, log: Log, example: Mapping[str, int | None], clock: Clock) -> Surroundings:
    """For a finding of the anomalies in `NAMES`."""
    at = example["time"]
    assert at is not None
    over = at + (example.get("lasted") or 0)
    names = evidence.groups(history, log, example)
    # Whoever is alive shows it by anything it is told.
    told = evidence.told(history, names, None if "lasted" in example else log, at, over)
    commits = evidence.commits(history, names, log, at, over)
    earlier = [
        row
        for name in COMMITTED
        if (offset := example.get(name)) is not None
        for row in evidence.commits_of(history, names, log, offset, at).rows
    ]
    made = sorted({(row.invoked, row.process, row.op): row for row in (*commits.rows, *earlier)}.items())
    processes = sorted({row.process for row in (*told.rows, *(row for _, row in made))})
    ends = evidence.ends(history, processes)
    several = len(names) > 1
    return Surroundings(
        entries=(
            *_told(told.rows, clock, several),
            *_committed([row for _, row in made], log, several),
            *((row.time, 7, f"process {row.process}", f"ends: {row.event}") for row in ends.rows),
        ),
        tables=tuple(_owners(told.rows, ends.rows, log, example, clock, several)),
        notes=tuple(
            f"{what}: the {len(some.rows)} next to the finding of {some.total:,} are shown"
            for what, some in (("what members were told", told), ("commits", commits))
            if some.more
        ),
    )


def _told(rows: Sequence[Row], clock: Clock, several: bool) -> Iterator[Entry]:
    for row in rows:
        log = "" if row.topic is None else f" {row.topic}-{row.partition}"
        generation = "" if row.generation is None else f" in generation {row.generation}"
        begins = "" if row.start_offset is None else f", to begin at {row.start_offset}"
        begun = "" if row.completed in (None, row.invoked) else f" (begun {clock.at(row.invoked)})"
        failed = "" if row.type == "ok" else f" ({row.type})"
        said = {"assigned": "is assigned", "revoked": "gives up", "lost": "learns that it lost"}
        what = f"{said.get(row.event, row.event)}{log}{generation}{begins}{begun}{failed}"
        at = row.invoked if row.completed is None else row.completed
        yield at, 1 if row.event in ENDS else 2, _who(row, several), what


def _committed(rows: Sequence[Row], log: Log, several: bool) -> Iterator[Entry]:
    outcomes = {"ok": "acknowledged", "fail": "refused", "info": "without an answer"}
    for row in rows:
        generation = "" if row.generation is None else f" in generation {row.generation}"
        reset = ", set there on purpose" if row.reset else ""
        what = f"offset {row.offset} of {log}{generation}{reset}"
        yield row.invoked, 3, _who(row, several), f"commits {what}"
        if row.completed is None:
            yield row.invoked, 4, _who(row, several), f"never learns what became of its commit of {what}"
        else:
            yield row.completed, 4, _who(row, several), f"{outcomes[row.type]}: commit of {what}"


def _owners(
    rows: Sequence[Row],
    ends: Sequence[Row],
    log: Log,
    example: Mapping[str, int | None],
    clock: Clock,
    several: bool,
) -> Iterator[Table]:
    """Who was assigned the log, from when to when, as far as that is among the rows."""
    own = [
        row for row in rows if row.topic is None or (row.topic, row.partition) == (log.topic, log.partition)
    ]
    lines: list[tuple[str, ...]] = []
    marked = set()
    for position, row in enumerate(own):
        if row.event != "assigned" or row.topic is None or row.type == "fail":
            continue
        later = (
            each for each in own[position + 1 :] if each.process == row.process and each.group == row.group
        )
        ended = next(((each.invoked, each.event) for each in later if each.event != "joined"), None)
        died = ((each.time, each.event) for each in ends if each.process == row.process)
        end = min(
            (each for each in (ended, *died) if each is not None and each[0] >= row.invoked), default=None
        )
        if row.op == example.get("op"):
            marked.add(len(lines))
        lines.append((
            _who(row, several),
            "" if row.generation is None else str(row.generation),
            clock.at(row.completed if row.completed is not None else row.invoked),
            "" if row.start_offset is None else str(row.start_offset),
            "(not told)" if end is None else f"{end[1]} {clock.at(end[0])}",
        ))  # fmt: skip
    if lines:
        headings = ("who", "generation", "assigned", "begins at", "until")
        yield Table(title=f"Who owned {log}", headings=headings, rows=tuple(lines), marked=frozenset(marked))


def _who(row: Row, several: bool) -> str:
    return f"process {row.process}{f', group {row.group}' if several else ''}"
