"""Transactions by transactional id: each one while there are few, otherwise how many ended how."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.drawing import nice_top
from pytest_kafkacheck.report.lane import Chart, Mark, Row, Series, Span, Strip, Tags
from pytest_kafkacheck.report.run_data import RunData

MOST = 1500
"""Transactions that are drawn one by one."""

ABOUT = "From its begin to its end: full committed, half aborted, hatched unknown. ▽ claims of the transactional id."
TALLY = "Per second, by the time of their end."
WORDS = {"committed": "committed", "aborted": "aborted", "open": "outcome unknown"}


def transactions(run: RunData) -> tuple[Strip | Chart, ...]:
    table = run.operations.filter(pc.equal(run.operations["f"], "txn"))
    if not len(table):
        return ()
    table = table.append_column("id", _text_of(table["value"], "transactional_id"))
    is_abort = pc.fill_null(pc.equal(_text_of(table["value"], "outcome"), "abort"), False)
    is_ok = pc.equal(table["type"], "ok")
    ended = pc.if_else(
        is_ok,
        pc.if_else(is_abort, "aborted", "committed"),
        pc.if_else(pc.equal(table["type"], "fail"), "aborted", "open"),
    )
    table = table.append_column("end", ended)
    return (_each(table, run),) if len(table) <= MOST else (_counted(table, run),)


def _text_of(values: pa.ChunkedArray, key: str) -> pa.ChunkedArray:
    """The text of a key of JSON objects, without parsing each of them."""
    found = pc.extract_regex(values, rf'"{key}": "(?P<text>[^"]*)"')
    return pc.struct_field(found, "text")


def _each(table: pa.Table, run: RunData) -> Strip:
    spans: dict[str, list[Span]] = defaultdict(list)
    processes: dict[str, set[int]] = defaultdict(set)
    for row in table.to_pylist():
        begin = run.axis.at(row["invoked"])
        end = run.axis.at(row["completed"]) if row["completed"] is not None else run.axis.span
        title = f"transaction {WORDS[row['end']]}, {clock(begin)} to {clock(end)}"
        spans[row["id"] or ""].append(Span(begin=begin, end=end, look=f"txn {row['end']}", title=title))
        processes[row["id"] or ""].add(row["process"])
    marks = _claims(run)
    rows = tuple(
        Row(
            name=name or "unknown id",
            spans=tuple(each),
            marks=tuple(marks.get(name, ())),
            tags=_tags(processes[name]),
        )
        for name, each in sorted(spans.items())
    )
    return Strip(title="Transactions", about=ABOUT, rows=rows)


def _tags(processes: set[int]) -> Tags:
    return Tags(process=str(min(processes))) if len(processes) == 1 else Tags()


def _claims(run: RunData) -> dict[str, list[Mark]]:
    table = run.operations.filter(pc.equal(run.operations["f"], "init"))
    table = table.append_column("id", _text_of(table["value"], "transactional_id"))
    found: dict[str, list[Mark]] = defaultdict(list)
    for row in table.to_pylist():
        time = run.axis.at(row["completed"] if row["completed"] is not None else row["invoked"])
        title = f"{clock(time)}: {row['id']} is claimed ({row['type']}), which fences earlier producers"
        found[row["id"] or ""].append(Mark(time=time, look="step", sign="▽", title=title))
    return found


def _counted(table: pa.Table, run: RunData) -> Chart:
    axis = run.axis
    table = table.append_column("bucket", axis.bucket(pc.coalesce(table["completed"], table["invoked"])))
    counts: Counter[tuple[str, int]] = Counter()
    for row in table.group_by(["end", "bucket"]).aggregate([([], "count_all")]).to_pylist():
        counts[row["end"], row["bucket"]] = row["count_all"]
    looks: dict[str, Any] = {"committed": "ok", "aborted": "fail", "open": "info"}
    series = tuple(
        Series(
            name=WORDS[end],
            look=look,
            points=[(at * axis.width, counts[end, at] * 1000 / axis.width) for at in range(axis.buckets)],
        )
        for end, look in looks.items()
    )
    top = max(sum(each.points[at][1] or 0 for each in series) for at in range(axis.buckets))
    return Chart(title="Transactions", about=TALLY, unit="/s", series=series, top=nice_top(top), stacked=True)
