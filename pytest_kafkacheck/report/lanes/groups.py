"""Consumer groups: generations, and which member had which partitions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pyarrow.compute as pc

from analyzers.verdict.wording import client_name
from pytest_kafkacheck.report.axis import clock
from pytest_kafkacheck.report.lane import Mark, Row, Span, Strip, Tags
from pytest_kafkacheck.report.run_data import RunData

ABOUT = (
    "Generations, and the partitions that each member owned. ○ joined, × left, ! fenced or lost its partitions. "
    "What members recorded themselves."
)
WATCHED = "Seen from outside: which instance owned each partition; hatched while the group rebalanced."
SIGNS = {"joined": "○", "left": "×", "fenced": "!", "lost": "!"}
GONE = {"left", "fenced"}


def groups(run: RunData) -> tuple[Strip, ...]:
    return (*_recorded(run), *_watched(run))


def _recorded(run: RunData) -> Iterator[Strip]:
    table = run.operations.filter(pc.equal(run.operations["f"], "member"))
    by_group: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        by_group[row["group"]].append(row | {"value": json.loads(row["value"])})
    ends = _ends(run)
    for group, events in sorted(by_group.items()):
        members: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for event in events:
            members[event["process"]].append(event)
        rows = [Row(name="generation", spans=tuple(_generations(events, run)))]
        rows += [_member(process, mine, ends, run) for process, mine in sorted(members.items())]
        yield Strip(title=f"Group {group}", about=ABOUT, rows=tuple(rows))


def _ends(run: RunData) -> dict[int, int]:
    """ns, by process: when it had ended."""
    return {
        row["value"]["process"]: row["invoked"]
        for row in run.steps("worker")
        if row["value"].get("event") in ("stopped", "crashed", "killed")
    }


def _generations(events: list[dict[str, Any]], run: RunData) -> Iterator[Span]:
    begun: dict[int, int] = {}
    for event in events:
        if event["generation"] is not None and event["value"]["event"] in ("assigned", "joined"):
            begun.setdefault(event["generation"], run.axis.at(event["invoked"]))
    ordered = sorted((time, generation) for generation, time in begun.items())
    for (begin, generation), (end, _) in pairwise([*ordered, (run.axis.span, 0)]):
        title = f"generation {generation} from {clock(begin)}"
        yield Span(
            begin=begin,
            end=end,
            look=f"phase {'even' if generation % 2 else 'odd'}",
            text=str(generation),
            title=title,
        )


def _member(process: int, events: list[dict[str, Any]], ends: dict[int, int], run: RunData) -> Row:
    name = client_name(process, run.clients)
    spans, marks, owned = [], [], dict[tuple[str, int], int]()
    since = 0
    end = run.axis.at(ends[process]) if process in ends else run.axis.span
    for event in [*events, None]:
        now = end if event is None else run.axis.at(event["invoked"])
        if owned and now > since:
            spans.append(_ownership(name, owned, since, now))
        since = now
        if event is None:
            break
        kind, log = event["value"]["event"], (event["topic"], event["partition"])
        if kind == "assigned":
            owned[log] = event["generation"]
        elif kind in GONE and event["partition"] is None:
            owned = {}
        else:
            owned.pop(log, None)
        if kind in SIGNS:
            marks.append(
                Mark(time=now, look="step", sign=SIGNS[kind], title=f"{clock(now)}: {name} {_what(kind)}")
            )
    return Row(name=name, spans=tuple(spans), marks=tuple(marks), tags=Tags(process=str(process)))


def _what(kind: str) -> str:
    return {"joined": "joins", "left": "leaves", "fenced": "is fenced", "lost": "loses a partition"}[kind]


def _ownership(name: str, owned: dict[tuple[str, int], int], begin: int, end: int) -> Span:
    partitions = ", ".join(str(partition) for _, partition in sorted(owned))
    generation = max((each for each in owned.values() if each is not None), default=None)
    logs = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(owned))
    title = f"{name} owns {logs} in generation {generation}, {clock(begin)} to {clock(end)}"
    return Span(begin=begin, end=end, look="owns", text=partitions, title=title)


def _watched(run: RunData) -> Iterator[Strip]:
    """Of the groups of applications: samples are recorded when they differ."""
    table = run.observations.filter(pc.equal(run.observations["kind"], "group")).sort_by("time")
    found: dict[str, dict[tuple[str, int], list[tuple[int, str | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in table.to_pylist():
        value = json.loads(row["value"] or "{}")
        log = row["topic"], row["partition"]
        found[value.get("group", "")][log].append((run.axis.at(row["time"]), value.get("owner")))
    for group, logs in sorted(found.items()):
        rows = tuple(
            Row(
                name=f"{log[0]}-{log[1]}",
                spans=tuple(_owners(samples, run)),
                tags=Tags(log=f"{log[0]}-{log[1]}"),
            )
            for log, samples in sorted(logs.items())
        )
        yield Strip(title=f"Group {group}, watched", about=WATCHED, rows=rows)


def _owners(samples: list[tuple[int, str | None]], run: RunData) -> Iterator[Span]:
    for (begin, owner), (end, _) in pairwise([*samples, (run.axis.span, None)]):
        text = owner or "rebalancing"
        title = f"{text}, {clock(begin)} to {clock(end)}"
        yield Span(begin=begin, end=end, look="owns" if owner else "out", text=text, title=title)
