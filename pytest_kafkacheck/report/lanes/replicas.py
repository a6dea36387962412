"""Each partition as each broker saw it: who led in which epoch, who was in sync, and where the logs ended.

Rows at which a sampled state changes are found in vectorised form: a long run has a hundred thousand samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analyzers.causes.words import braces
from pytest_kafkacheck.report.axis import NANOSECONDS, Axis, clock
from pytest_kafkacheck.report.drawing import nice_top
from pytest_kafkacheck.report.lane import Chart, Mark, Points, Row, Series, Span, Strip, Tags
from pytest_kafkacheck.report.run_data import RunData

OPEN = 6
"""Partitions that are shown at once; others are folded."""

MOST_LOGS = 100
"""Partitions that are drawn; a report of more would be larger than 5 MB."""

MOST_POINTS = 100
"""Of a line of a folded partition."""

ABOUT = (
    "A row for each broker. Dark: it regards itself as leader, with its epoch. Light: a follower in sync (ISR), as "
    "the newest leader reports it. Hatched: not in sync. Outlined: it does not answer."
)
Samples = dict[int, list[dict[str, Any]]]
"""By broker, in order of time."""


def replicas(run: RunData) -> tuple[Strip | Chart, ...]:
    samples = _samples(run.observations)
    if not len(samples):
        return ()
    changes, offsets = _by_log(_changes(samples)), _by_log(_offsets(samples, run.axis))
    cuts = _cuts(run)
    logs = sorted(changes, key=lambda log: (log not in cuts, -sum(map(len, changes[log].values())), log))
    lanes: list[Strip | Chart] = []
    for number, log in enumerate(sorted(logs[:OPEN]) + sorted(logs[OPEN:MOST_LOGS])):
        folded = number >= OPEN
        lanes.append(
            _leaders(log, changes[log], run.axis, holders=offsets.get(log, {}).keys(), folded=folded)
        )
        lanes += _watermarks(log, offsets.get(log, {}), run.axis, cuts.get(log, ()), folded)
    return tuple(lanes)


def log_name(log: tuple[str, int]) -> str:
    return f"{log[0]}-{log[1]}"


def _samples(observations: pa.Table) -> pa.Table:
    """In order of time by replica, with the ISR as text and the time since the broker's sample before."""
    table = observations.filter(pc.equal(observations["kind"], "partition"))
    table = table.select(
        ["topic", "partition", "node", "time", "leader", "leader_epoch", "isr", "high_watermark", "log_end"]
    ).sort_by(
        [("topic", "ascending"), ("partition", "ascending"), ("node", "ascending"), ("time", "ascending")]
    )
    if not len(table):
        return table
    isr = table["isr"].combine_chunks()
    text = pa.array(
        [None if each is None else ",".join(map(str, sorted(each))) for each in isr.to_pylist()], pa.string()
    )
    return table.set_column(table.schema.get_field_index("isr"), "isr", text)


KEY = ("topic", "partition", "node")


def _changes(table: pa.Table) -> pa.Table:
    """Rows whose leader, epoch or ISR is another than before, or that begin or end a silence, which `silent` says."""
    times = table["time"].combine_chunks()
    before = pc.fill_null(pc.greater(pc.subtract(times, shifted(times)), SILENT), False)
    after = pc.fill_null(pc.greater(pc.subtract(shifted(times, -1), times), SILENT), False)
    keep = pc.or_(pc.or_(before, after), differs(table, [*KEY, "leader", "leader_epoch", "isr"]))
    table = table.append_column("silent", after)
    keep = pc.or_(keep, differs(table, KEY, by=-1))
    return table.filter(keep)


def _offsets(table: pa.Table, axis: Axis) -> pa.Table:
    """The last row of each bucket, and those around a log end that goes back."""
    table = table.filter(pc.is_valid(table["log_end"]))
    if not len(table):
        return table
    table = table.append_column("bucket", axis.bucket(table["time"]))
    ends = table["log_end"].combine_chunks()
    back = pc.and_(pc.fill_null(pc.less(ends, shifted(ends)), False), pc.invert(differs(table, KEY)))
    keep = pc.or_(
        pc.or_(back, pc.fill_null(shifted(back, -1), False)), differs(table, [*KEY, "bucket"], by=-1)
    )
    return table.filter(keep)


def _by_log(table: pa.Table) -> dict[tuple[str, int], Samples]:
    found: dict[tuple[str, int], Samples] = defaultdict(lambda: defaultdict(list))
    for row in table.to_pylist():
        found[row["topic"], row["partition"]][row["node"]].append(row)
    return found


def _leaders(log: tuple[str, int], samples: Samples, axis: Axis, *, holders: Set[int], folded: bool) -> Strip:
    """holders: brokers that reported a log end. One that never did, led, or was in the ISR holds no replica."""
    reports = _isr_reports(samples)
    tags = Tags(log=log_name(log))
    members = holders | {node for _, isr in reports for node in isr}
    rows = tuple(
        Row(name=f"broker {node}", spans=tuple(_states(node, rows, reports, axis)), tags=tags)
        for node, rows in sorted(samples.items())
        if node in members or any(row["leader"] == node for row in rows)
    )
    return Strip(title=f"{log_name(log)}: leader and ISR", about=ABOUT, rows=rows, folded=folded)


def _isr_reports(samples: Samples) -> list[tuple[int, frozenset[int]]]:
    """Time (ns) and ISR: of each moment's leader of the highest epoch, as it reported it."""
    found: list[tuple[int, frozenset[int]]] = []
    highest = -1
    for row in sorted((row for rows in samples.values() for row in rows), key=lambda row: row["time"]):
        epoch = row["leader_epoch"] if row["leader_epoch"] is not None else -1
        if row["leader"] == row["node"] and epoch >= highest and row["isr"] is not None:
            highest = epoch
            isr = _isr(row)
            if not found or found[-1][1] != isr:
                found.append((row["time"], isr))
    return found


def _isr(row: dict[str, Any]) -> frozenset[int]:
    return frozenset(map(int, filter(None, row["isr"].split(","))))


def _states(
    node: int, rows: Sequence[dict[str, Any]], reports: Sequence[tuple[int, frozenset[int]]], axis: Axis
) -> Iterator[Span]:
    """What the replica was, between its samples; split where the ISR changes."""
    spans: list[Span] = []
    for row, after in pairwise(rows):
        edges = [
            row["time"],
            *(time for time, _ in reports if row["time"] < time < after["time"]),
            after["time"],
        ]
        for begin, end in pairwise(edges):
            isr = next((isr for time, isr in reversed(reports) if time <= begin), None)
            spans.append(_span(node, row, isr, axis.at(begin), axis.at(end)))
    yield from named_once(joined(spans))


def _span(node: int, row: dict[str, Any], isr: frozenset[int] | None, begin: int, end: int) -> Span:
    epoch = row["leader_epoch"]
    members = f", ISR {braces(sorted(isr))}" if isr is not None else ""
    is_out = isr is not None and node not in isr
    if row["silent"]:
        title = f"broker {node} does not answer{members}"
        return Span(
            begin=begin, end=end, look="silent out" if is_out else "silent", text="no answer", title=title
        )
    if row["leader"] == node:
        own = f", ISR {braces(sorted(_isr(row)))}" if row["isr"] is not None else ""
        title = f"broker {node} leads in epoch {epoch}{own}"
        return Span(begin=begin, end=end, look="leads", text=f"leads, epoch {epoch}", title=title)
    leader = f"sees broker {row['leader']} lead" if (row["leader"] or -1) >= 0 else "sees no leader"
    title = f"broker {node} {leader} in epoch {epoch}{members}"
    if is_out:
        return Span(begin=begin, end=end, look="out", text="not in sync", title=f"{title}; it is not in sync")
    return Span(begin=begin, end=end, look="in-sync", title=title)


def joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Neighbours that say the same as one."""
    last: Span | None = None
    for span in spans:
        if last is not None and (last.look, last.title, last.end) == (span.look, span.title, span.begin):
            last = Span(begin=last.begin, end=span.end, look=span.look, text=span.text, title=span.title)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def named_once(spans: Iterable[Span]) -> Iterator[Span]:
    """Of neighbours with the same text, only the first one shows it."""
    last: Span | None = None
    for span in spans:
        is_same = last is not None and (last.look, last.text, last.end) == (span.look, span.text, span.begin)
        last = span
        yield replace(span, text="") if is_same else span


def _watermarks(
    log: tuple[str, int], samples: Samples, axis: Axis, cuts: Sequence[Mark], folded: bool
) -> Iterator[Chart]:
    series = []
    top = 0
    for node, rows in sorted(samples.items()):
        look = f"broker b{(node - 1) % 8 + 1}"
        top = max(top, *(row["log_end"] for row in rows))
        ends, marks = (_line(rows, column, axis) for column in ("log_end", "high_watermark"))
        if folded:
            ends, marks = fewer(ends, MOST_POINTS), fewer(marks, MOST_POINTS)
        series.append(Series(name=f"broker {node}: log end", look=look, points=ends))
        series.append(Series(name=f"broker {node}: HW", look=look, points=marks, dashed=True))
    if series:
        yield Chart(
            title=f"{log_name(log)}: log ends and high watermarks",
            about="Offsets of each broker's replica: solid where its log ends (LEO), dashed its high watermark (HW).",
            unit="",
            series=tuple(series),
            top=nice_top(top),
            marks=tuple(cuts),
            tags=Tags(log=log_name(log)),
            folded=folded,
        )


def _line(rows: Sequence[dict[str, Any]], column: str, axis: Axis) -> Points:
    """Interrupted where the broker did not answer: where its log ended meanwhile is not known."""
    longest = max(SILENT, 3 * axis.width * NANOSECONDS)
    points: list[tuple[int, float | None]] = []
    for before, row in pairwise([None, *rows]):
        assert row is not None
        if before is not None and row["time"] - before["time"] > longest:
            points.append((axis.at(before["time"]), None))
        points.append((axis.at(row["time"]), row[column]))
    return points


def fewer(points: Points, most: int) -> Points:
    """About `most` of them, and all ends of the line and those where it goes back."""
    step = len(points) // most + 1
    values = [None, *(value for _, value in points), None]
    return [
        point
        for number, point in enumerate(points)
        if number % step == 0 or _is_corner(*values[number : number + 3])
    ]


def _is_corner(before: float | None, here: float | None, after: float | None) -> bool:
    """Whether a line begins, ends, or goes back at this point."""
    return before is None or here is None or after is None or here < before or after < here


def _cuts(run: RunData) -> dict[tuple[str, int], list[Mark]]:
    """The truncations that causes of the verdict name, by log."""
    names = {log_name(log): log for log in run.logs}
    found: dict[tuple[str, int], list[Mark]] = defaultdict(list)
    for cause in run.verdict.causes if run.verdict else ():
        cuts = [(log, cut) for log in cause.logs if log in names for cut in cause.cuts_of(log)]
        for log, cut in cuts:
            if cut.time is None:
                continue
            title = f"{clock(cut.time * 1000)}: broker {cut.node} cut its log from {cut.log_end:,} to {cut.offset:,}"
            found[names[log]].append(Mark(time=round(cut.time * 1000), look="cut", sign="✂", title=title))
    return found


SILENT = 2_000_000_000
"""ns without a sample of a broker, after which the report says that it did not answer. Probes sample each 0.2 s to
1 s, and wait up to a second for an answer."""


def shifted(column: pa.ChunkedArray, by: int = 1) -> pa.Array:
    """Each row's value of the row before (by=1) or after it (by=-1); null where there is none."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    pad = pa.nulls(min(abs(by), len(whole)), whole.type)
    parts = [pad, whole[: len(whole) - by]] if by > 0 else [whole[-by:], pad]
    return pa.concat_arrays(parts)


def differs(table: pa.Table, columns: Sequence[str], by: int = 1) -> pa.Array:
    """Whether any of these columns differs from the row before (by=1) or after it; True where there is none."""
    found = pa.array([False] * len(table))
    for name in columns:
        mine = table[name].combine_chunks()
        other = shifted(mine, by)
        same = pc.or_(
            pc.fill_null(pc.equal(mine, other), False), pc.and_(pc.is_null(mine), pc.is_null(other))
        )
        found = pc.or_(found, pc.invert(same))
    if len(table):
        edge = pa.array([at == (0 if by > 0 else len(table) - 1) for at in range(len(table))])
        found = pc.or_(found, edge)
    return found
