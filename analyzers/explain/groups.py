"""What a finding about a consumer group needs: membership events, commits, and the owners of the partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Row

from analyzers.catalogue.registry import CATALOGUE
from analyzers.explain.evidence import groups as evidence
from analyzers.explain.evidence.log import Log
from analyzers.explain.explanation import Surroundings, Table
from analyzers.explain.labels import Labels
from analyzers.explain.time_axis import Entry
from analyzers.history.load import History

NAMES = frozenset(each.name for each in CATALOGUE if each.family == "groups")

COMMITTED = ("committed", "reached")
"""Evidence that is an offset which was committed earlier."""

OWNERSHIP_ENDS = ("revoked", "lost", "left", "fenced")
"""Membership events that end an ownership."""

EVENTS = {"assigned": "is assigned", "revoked": "revokes", "lost": "loses"}
OUTCOMES = {"ok": "acknowledged", "fail": "failed", "info": "outcome unknown"}


def of_group(history: History, log: Log, example: Mapping[str, int | None], labels: Labels) -> Surroundings:
    """For a finding of the anomalies in `NAMES`."""
    began = example["time"]
    assert began is not None
    ended = began + (example.get("lasted") or 0)
    names = evidence.groups(history, log, example)
    # For a finding that lasts, events about other logs count as well: they show which members were alive.
    members = evidence.member_events(history, names, None if "lasted" in example else log, began, ended)
    commits = evidence.commits(history, names, log, began, ended)
    earlier = [
        row
        for name in COMMITTED
        if (offset := example.get(name)) is not None
        for row in evidence.commits_of_offset(history, names, log, offset, before=began).rows
    ]
    committed = sorted({(row.invoked, row.process, row.op): row for row in (*commits.rows, *earlier)}.items())
    processes = sorted({row.process for row in (*members.rows, *(row for _, row in committed))})
    ends = evidence.process_ends(history, processes)
    with_group = len(names) > 1
    return Surroundings(
        entries=(
            *_member_entries(members.rows, labels, with_group),
            *_commit_entries([row for _, row in committed], log, with_group, labels),
            *(
                Entry(time=row.time, order=7, who=labels.client(row.process), what=f"ends: {row.event}")
                for row in ends.rows
            ),
        ),
        tables=tuple(_owners(members.rows, ends.rows, log, example, labels, with_group)),
        notes=tuple(
            f"{what}: the nearest {len(excerpt.rows)} of {excerpt.total:,} are shown"
            for what, excerpt in (("membership events", members), ("commits", commits))
            if excerpt.is_cut
        ),
    )


def _member_entries(rows: Sequence[Row], labels: Labels, with_group: bool) -> Iterator[Entry]:
    for row in rows:
        log = "" if row.topic is None else f" {row.topic}-{row.partition}"
        generation = "" if row.generation is None else f" in generation {row.generation}"
        start = "" if row.start_offset is None else f", starting at offset {row.start_offset}"
        settings = {"group.instance.id": row.instance, "auto.offset.reset": row.policy}
        known = ", ".join(f"{name}={each}" for name, each in settings.items() if each is not None)
        known = f" with {known}" if known and row.event == "assigned" else ""
        begun = "" if row.completed in (None, row.invoked) else f" (begun {labels.at(row.invoked)})"
        failed = "" if row.type == "ok" else f" ({row.type})"
        yield Entry(
            time=row.invoked if row.completed is None else row.completed,
            order=1 if row.event in OWNERSHIP_ENDS else 2,
            who=_member(row, with_group, labels),
            what=f"{EVENTS.get(row.event, row.event)}{log}{generation}{start}{known}{begun}{failed}",
        )


def _commit_entries(rows: Sequence[Row], log: Log, with_group: bool, labels: Labels) -> Iterator[Entry]:
    for row in rows:
        who = _member(row, with_group, labels)
        generation = "" if row.generation is None else f" in generation {row.generation}"
        reset = " (a deliberate reset)" if row.reset else ""
        pending = "" if row.transaction is None else f" in transaction {row.transaction}"
        commit = f"offset {row.offset} of {log}{generation}{pending}{reset}"
        yield Entry(time=row.invoked, order=3, who=who, what=f"commits {commit}")
        if row.completed is None:
            yield Entry(time=row.invoked, order=4, who=who, what=f"gets no answer to its commit of {commit}")
        else:
            what = f"{OUTCOMES[row.type]}: commit of {commit}"
            yield Entry(time=row.completed, order=4, who=who, what=what)


def _owners(
    rows: Sequence[Row],
    process_ends: Sequence[Row],
    log: Log,
    example: Mapping[str, int | None],
    labels: Labels,
    with_group: bool,
) -> Iterator[Table]:
    """The owners of the log, as far as the rows show them."""
    events = [
        row for row in rows if row.topic is None or (row.topic, row.partition) == (log.topic, log.partition)
    ]
    lines: list[tuple[str, ...]] = []
    marked = set()
    for position, row in enumerate(events):
        if row.event != "assigned" or row.topic is None or row.type == "fail":
            continue
        end = _end(row, events[position + 1 :], process_ends)
        if row.op == example.get("op"):
            marked.add(len(lines))
        lines.append((
            _member(row, with_group, labels),
            "" if row.generation is None else str(row.generation),
            labels.at(row.completed if row.completed is not None else row.invoked),
            "" if row.start_offset is None else str(row.start_offset),
            "(unknown)" if end is None else f"{end[1]} {labels.at(end[0])}",
        ))  # fmt: skip
    if lines:
        headings = ("who", "generation", "assigned", "start offset", "until")
        yield Table(title=f"Owners of {log}", headings=headings, rows=tuple(lines), marked=frozenset(marked))


def _end(row: Row, later: Sequence[Row], process_ends: Sequence[Row]) -> tuple[int, str] | None:
    """When (ns) and how an assignment ended: by the next event of its member, or with its process."""
    same = (each for each in later if each.process == row.process and each.group == row.group)
    ended = next(((each.invoked, each.event) for each in same if each.event != "joined"), None)
    died = ((each.time, each.event) for each in process_ends if each.process == row.process)
    return min((each for each in (ended, *died) if each is not None and each[0] >= row.invoked), default=None)


def _member(row: Row, with_group: bool, labels: Labels) -> str:
    return f"{labels.client(row.process)}{f', group {row.group}' if with_group else ''}"
