"""Share groups: when each member held records that it had acquired, and how the records were acknowledged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from analyzers.verdict.wording import client_name
from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.drawing import nice_top
from pytest_kafkacheck.report.lane import Chart, Mark, Row, Series, Span, Strip, Tags
from pytest_kafkacheck.report.run_data import RunData

ABOUT = (
    "When each member held records that it had acquired; hatched once their locks had timed out. "
    "! acknowledgements that were refused or not answered, † killed, ✖ crashed. What members recorded themselves."
)
TALLY = "Acknowledgements of members per second, by the time of the answer."

ENDINGS = {
    "accept": ("accepted", "ok"),
    "release": ("released", "polled"),
    "reject": ("rejected", "fail"),
    "": ("refused or not answered", "info"),
}
"""By the kind of a confirmed acknowledgement: in words, and how it looks."""

ENDS = {"killed": "†", "crashed": "✖"}


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a member got with one poll. Times are ms of the axis."""

    begin: int
    end: int
    """When the last of it was acknowledged, answered or not; the end of the member for what it never acknowledged."""
    records: int
    again: int
    """Of them: delivered before."""
    refused: int
    """Of them: the acknowledgement was refused or not answered, or there was none."""
    expired: int | None = None
    """When the locks timed out, if it held the records for longer."""


def share_groups(run: RunData) -> tuple[Strip | Chart, ...]:
    operations = run.operations
    found = operations.filter(pc.equal(operations["f"], "delivery"))
    lanes: list[Strip | Chart] = []
    for group in sorted(pc.unique(found["group"]).to_pylist()):
        mine = found.filter(pc.equal(found["group"], group))
        ended = _with_endings(mine, operations)
        name = f"Share group {group}"
        lanes += [
            Strip(title=name, about=ABOUT, rows=tuple(_members(ended, run, _lock(run, group)))),
            _tally(ended, run, name),
        ]
    return tuple(lanes)


def _with_endings(deliveries: pa.Table, operations: pa.Table) -> pa.Table:
    """One row per delivery. Columns: process, begin, acknowledged (ns; null if never), kind (empty unless the broker
    confirmed it), again."""
    rows = operations.filter(pc.equal(operations["f"], "acknowledgement"))
    ok = pc.equal(rows["type"], "ok")
    answers = pa.table(
        {
            "op": _number_of(rows["value"], "delivery"),
            "kind": pc.if_else(ok, _text_of(rows["value"], "kind"), ""),
            # The first of its two rows has no time of an answer.
            "acknowledged": pc.coalesce(rows["completed"], rows["invoked"]),
        }
    )
    answers = answers.group_by("op").aggregate([("kind", "max"), ("acknowledged", "max")])
    counts = _number_of(deliveries["value"], "deliveries")
    table = pa.table(
        {
            "op": deliveries["op"],
            "process": deliveries["process"],
            "begin": deliveries["completed"],
            "again": pc.fill_null(pc.greater(counts, 1), False),
        }
    )
    joined = table.join(answers, "op").rename_columns(
        {"kind_max": "kind", "acknowledged_max": "acknowledged"}
    )
    return joined.set_column(joined.column_names.index("kind"), "kind", pc.fill_null(joined["kind"], ""))


def _text_of(values: pa.ChunkedArray, key: str) -> pa.ChunkedArray:
    found = pc.extract_regex(values, rf'"{key}": "?(?P<text>[^",}}]*)')
    return pc.struct_field(found, "text")


def _number_of(values: pa.ChunkedArray, key: str) -> pa.ChunkedArray:
    text = _text_of(values, key)
    return pc.if_else(pc.equal(text, "null"), None, text).cast(pa.int64())


def _lock(run: RunData, group: str) -> int | None:
    """ms for which a member has what it acquired; None if unknown."""
    rows = run.operations.filter(
        pc.and_(pc.equal(run.operations["f"], "queue"), pc.equal(run.operations["group"], group))
    )
    locks = pc.drop_null(_number_of(rows["value"], "lock"))
    return locks[0].as_py() // 1_000_000 if len(locks) else None


def _members(deliveries: pa.Table, run: RunData, lock: int | None) -> Iterator[Row]:
    ends = {
        row["value"]["process"]: (run.axis.at(row["invoked"]), row["value"]["event"])
        for row in run.steps("worker")
        if row["value"].get("event") in ("stopped", *ENDS)
    }
    for process, polls in sorted(
        _polls(deliveries, run, {each: at for each, (at, _) in ends.items()}, lock).items()
    ):
        name = client_name(process, run.clients)
        at, event = ends.get(process, (run.axis.span, ""))
        marks = list(_refusals(name, polls, run))
        if event in ENDS:
            marks.append(Mark(time=at, look="step", sign=ENDS[event], title=f"{clock(at)}: {name} {event}"))
        spans = tuple(span for held in _merged(polls, run.axis.width) for span in _spans(name, held))
        yield Row(name=name, spans=spans, marks=tuple(marks), tags=Tags(process=str(process)))


def _polls(
    deliveries: pa.Table, run: RunData, ends: dict[int, int], lock: int | None
) -> dict[int, list[Held]]:
    """By process, in order of time."""
    sums = deliveries.append_column("refused", pc.equal(deliveries["kind"], "").cast(pa.int64()))
    sums = sums.append_column("open", pc.is_null(sums["acknowledged"]).cast(pa.int64()))
    sums = sums.set_column(sums.column_names.index("again"), "again", sums["again"].cast(pa.int64()))
    sums = sums.group_by(["process", "begin"]).aggregate(
        [([], "count_all"), ("acknowledged", "max"), ("again", "sum"), ("refused", "sum"), ("open", "sum")]
    )
    found: dict[int, list[Held]] = defaultdict(list)
    for row in sums.sort_by("begin").to_pylist():
        begin = run.axis.at(row["begin"])
        last = ends.get(row["process"], run.axis.span)
        end = last if row["open_sum"] else run.axis.at(row["acknowledged_max"])
        found[row["process"]].append(
            Held(
                begin=begin,
                end=end,
                records=row["count_all"],
                again=row["again_sum"],
                refused=row["refused_sum"],
                expired=begin + lock if lock is not None and end > begin + lock else None,
            )
        )
    return found


def _merged(polls: Iterable[Held], width: int) -> Iterator[Held]:
    """Polls that follow closely are one span, because a run has thousands; those whose locks timed out stay alone."""
    open_: Held | None = None
    for each in polls:
        if open_ is not None:
            if open_.expired is None and each.expired is None and each.begin - open_.end <= 2 * width:
                open_ = Held(
                    begin=open_.begin,
                    end=max(open_.end, each.end),
                    records=open_.records + each.records,
                    again=open_.again + each.again,
                    refused=open_.refused + each.refused,
                )
                continue
            yield open_
        open_ = each
    if open_ is not None:
        yield open_


def _spans(name: str, held: Held) -> Iterator[Span]:
    again = f", {held.again:,} of them not for the first time" if held.again else ""
    what = f"{name} held {held.records:,} records{again}"
    title = f"{what}, {clock(held.begin)} to {clock(held.end)}"
    until = held.end if held.expired is None else held.expired
    yield Span(begin=held.begin, end=until, look="owns", text=f"{held.records:,}", title=title)
    if held.expired is not None:
        title = f"{what}, whose locks had timed out, {clock(held.expired)} to {clock(held.end)}"
        yield Span(begin=held.expired, end=held.end, look="out", text="timed out", title=title)


def _refusals(name: str, polls: Iterable[Held], run: RunData) -> Iterator[Mark]:
    """One mark for neighbouring ones."""
    counts: dict[int, int] = defaultdict(int)
    for each in polls:
        if each.refused:
            counts[each.end // (5 * run.axis.width) * 5 * run.axis.width] += each.refused
    for time, count in counts.items():
        title = f"{clock(time)}: {count:,} acknowledgements of {name} were refused or not answered"
        yield Mark(time=time, look="step", sign="!", title=title)


def _tally(deliveries: pa.Table, run: RunData, name: str) -> Chart:
    axis = run.axis
    known = deliveries.filter(pc.is_valid(deliveries["acknowledged"]))
    known = known.append_column("bucket", axis.bucket(known["acknowledged"]))
    counts = {
        (row["kind"], row["bucket"]): row["count_all"]
        for row in known.group_by(["kind", "bucket"]).aggregate([([], "count_all")]).to_pylist()
    }
    series = tuple(
        Series(
            name=words,
            look=look,
            points=[
                (at * axis.width, counts.get((kind, at), 0) * 1000 / axis.width) for at in range(axis.buckets)
            ],
        )
        for kind, (words, look) in ENDINGS.items()
    )
    top = max(sum(each.points[at][1] or 0 for each in series) for at in range(axis.buckets))
    return Chart(
        title=f"{name}: acknowledgements",
        about=TALLY,
        unit="/s",
        series=series,
        top=nice_top(top),
        stacked=True,
    )
