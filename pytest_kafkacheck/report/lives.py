"""The life of the value of a finding: attempts, acknowledgement, offset, who read it, where it was cut.

Only the values of the examples that a verdict names are followed; they are looked up all at once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analyzers.catalogue.registry import ANOMALIES
from analyzers.verdict.verdict import Verdict
from analyzers.verdict.wording import client_name, write_name
from pytest_kafkacheck.report.axis import NANOSECONDS
from pytest_kafkacheck.report.run_data import RunData
from workloads.history.schema import VALUE_BITS

MOST_EXAMPLES = 10
"""Of an anomaly; a verdict may hold more (`--examples`)."""

MOST_READS = 12
"""Of a value, in the order of time."""

MOST_STEPS = 14
"""Events of a group that are shown for a finding about it, nearest in time."""

VALUES = ("value", "other_value")
"""Keys of an example that hold the value of a record."""


@dataclass(frozen=True, kw_only=True)
class Event:
    time: int | None
    """ms."""
    who: str
    what: str


@dataclass(frozen=True, kw_only=True)
class Life:
    id: str
    anomaly: str
    title: str
    time: int | None
    """ms, of the finding."""
    facts: tuple[tuple[str, str], ...]
    """What the verdict says about it."""
    events: tuple[Event, ...]
    log: str
    process: str


def anchor(anomaly: str, number: int) -> str:
    """The id of an example in the page."""
    return f"finding-{anomaly}-{number + 1}"


def lives(run: RunData) -> dict[str, tuple[Life, ...]]:
    """By anomaly, in the order of the verdict."""
    if run.verdict is None:
        return {}
    found = {finding.anomaly: finding.examples[:MOST_EXAMPLES] for finding in run.verdict.findings}
    wanted = {value for examples in found.values() for each in examples for value in _values(each)}
    rows = _rows(run, wanted)
    return {
        anomaly: tuple(_life(anomaly, number, each, rows, run) for number, each in enumerate(examples))
        for anomaly, examples in found.items()
    }


def _values(example: Mapping[str, Any]) -> Iterator[int]:
    for key in VALUES:
        if type(example.get(key)) is int:
            yield example[key]


COLUMNS = (
    "process", "f", "type", "invoked", "completed", "topic", "partition", "offset", "value", "leader_epoch", "final",
    "error", "node",
)  # fmt: skip


def _rows(run: RunData, values: set[int]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    if values:
        chosen = run.some_records(COLUMNS, pc.field("value").isin(pa.array(sorted(values), pa.int64())))
        for row in chosen.sort_by("invoked").to_pylist():
            found[row["value"]].append(row)
    return found


def _life(
    anomaly: str, number: int, example: Mapping[str, Any], rows: dict[int, list[dict[str, Any]]], run: RunData
) -> Life:
    verdict = run.verdict
    assert verdict is not None
    values = [*dict.fromkeys(_values(example))]
    events = [
        event
        for value in values
        for event in _events(value, rows.get(value, []), run, it="it" if len(values) == 1 else "")
    ]
    if any(_is_missing(rows.get(value, [])) for value in _values(example)):
        events += _cuts(example, verdict)
    if ANOMALIES[anomaly].family == "groups":
        events += _group_events(example, run)
    ms = round(example["time"] * 1000) if example.get("time") is not None else None
    if ms is not None:
        events.append(Event(time=ms, who="verdict", what=f"{anomaly} is counted here"))
    value = next(_values(example), None)
    log = f"{example['topic']}-{example['partition']}" if example.get("partition") is not None else ""
    what = write_name(value, verdict.clients) if value is not None else ANOMALIES[anomaly].about(example)
    return Life(
        id=anchor(anomaly, number),
        anomaly=anomaly,
        title=f"{what}{f' to {log}' if value is not None and log else ''}",
        time=ms,
        facts=tuple(_facts(anomaly, example)),
        events=tuple(sorted(events, key=lambda event: (event.time is None, event.time or 0))),
        log=log,
        process=str(example.get("process", value >> VALUE_BITS if value is not None else "")),
    )


def _facts(anomaly: str, example: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    columns = ANOMALIES[anomaly].columns
    for name, value in example.items():
        if name in columns:
            yield name.replace("_", " "), columns[name].to_text(value)
    if example.get("faults"):
        yield "faults at work", ", ".join(map(str, example["faults"]))


def _events(value: int, rows: list[dict[str, Any]], run: RunData, *, it: str) -> Iterator[Event]:
    """it: how the value is called after its send; empty for its name, because there are others."""
    name = write_name(value, run.clients)
    it = it or name
    sends = [row for row in rows if row["f"] == "send"]
    polls = [row for row in rows if row["f"] == "poll"]
    for row in sends:
        who = client_name(row["process"], run.clients)
        log = f"{row['topic']}-{row['partition']}"
        yield Event(time=run.axis.at(row["invoked"]), who=who, what=f"sends {name} to {log}")
        yield _end(row, who, it, run)
    for row in polls[:MOST_READS]:
        how = f"finds {it} in the final read" if row["final"] else f"reads {it}"
        node = f", served by broker {row['node']}" if row["node"] is not None else ""
        epoch = f", epoch {row['leader_epoch']}" if row["leader_epoch"] is not None else ""
        yield Event(
            time=run.axis.at(row["completed"] or row["invoked"]),
            who=client_name(row["process"], run.clients),
            what=f"{how} at offset {row['offset']:,}{epoch}{node}",
        )
    if len(polls) > MOST_READS:
        yield Event(time=None, who="", what=f"{len(polls) - MOST_READS:,} more reads of it are not shown")
    if sends and not polls:
        yield Event(time=None, who="", what=f"nobody ever read {name}")
    elif _is_missing(rows):
        yield Event(time=None, who="", what=f"no final read found {name}")


def _is_missing(rows: list[dict[str, Any]]) -> bool:
    """Whether a value was sent, and no final read found it."""
    return any(row["f"] == "send" for row in rows) and not any(row["final"] for row in rows)


def _end(row: dict[str, Any], who: str, it: str, run: RunData) -> Event:
    attempts = f" after {row['error']}" if row["error"] else ""
    if row["completed"] is None:
        return Event(time=None, who=who, what=f"never learns the outcome of {it}{attempts}")
    time = run.axis.at(row["completed"])
    offset = f" at offset {row['offset']:,}" if row["offset"] is not None else ""
    words = {
        "ok": f"{it} is acknowledged{offset}",
        "fail": f"{it} is refused",
        "info": f"the outcome of {it} is unknown",
    }
    took = f" ({(row['completed'] - row['invoked']) / NANOSECONDS:,.0f} ms)"
    return Event(time=time, who=who, what=f"{words[row['type']]}{took}{attempts}")


def _group_events(example: Mapping[str, Any], run: RunData) -> Iterator[Event]:
    """Who was given the partition, and who committed, around the finding."""
    if example.get("partition") is None or example.get("time") is None:
        return
    table, moment = run.operations, run.axis.began + round(example["time"] * 1e9)
    mine = pc.and_(
        pc.equal(table["topic"], example["topic"]), pc.equal(table["partition"], example["partition"])
    )
    kinds = pc.is_in(table["f"], pa.array(["member", "commit"]))
    rows = table.filter(pc.and_(pc.fill_null(mine, False), kinds)).to_pylist()
    for row in sorted(rows, key=lambda row: abs(row["invoked"] - moment))[:MOST_STEPS]:
        time = row["completed"] if row["completed"] is not None else row["invoked"]
        generation = f" in generation {row['generation']}" if row["generation"] is not None else ""
        what = _group_step(row, f"{row['topic']}-{row['partition']}")
        yield Event(
            time=run.axis.at(time), who=client_name(row["process"], run.clients), what=f"{what}{generation}"
        )


def _group_step(row: dict[str, Any], log: str) -> str:
    if row["f"] == "member":
        kind = json.loads(row["value"])["event"]
        start = f" from offset {row['start_offset']:,}" if row["start_offset"] is not None else ""
        return {"assigned": f"is assigned {log}{start}", "revoked": f"gives {log} back"}.get(
            kind, f"loses {log}"
        )
    outcome = {"ok": "is accepted", "fail": "is refused", "info": "has an unknown outcome"}[row["type"]]
    return f"its commit of offset {row['end_offset']} of {log} {outcome}"


def _cuts(example: Mapping[str, Any], verdict: Verdict) -> Iterator[Event]:
    """The truncations that removed its offset."""
    log, offset = f"{example.get('topic')}-{example.get('partition')}", example.get("offset")
    if type(offset) is not int:
        return
    for cause in verdict.causes:
        for cut in cause.cuts_of(log):
            if cut.offset <= offset < cut.log_end:
                what = f"cuts its log from {cut.log_end:,} to {cut.offset:,}: offset {offset:,} is gone there"
                yield Event(
                    time=None if cut.time is None else round(cut.time * 1000),
                    who=f"broker {cut.node}",
                    what=what,
                )
