"""What a finding about a consumer group needs: membership events, commits, and the owners of the partition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from analyzers.catalogue.registry import CATALOGUE
from analyzers.explain.explanation import Entry, Labels, Surroundings, Table
from analyzers.explain.log import OUTCOMES
from analyzers.explain.rows import MAX_ROWS, Excerpt, Log, first_rows, nearest_rows
from analyzers.history.load import History
from workloads.history.schema import HARNESS

NAMES = frozenset(each.name for each in CATALOGUE if each.family == "groups")

COMMITTED = ("committed", "reached")
"""Evidence that is an offset which was committed earlier."""

OWNERSHIP_ENDS = ("revoked", "lost", "left", "fenced")
"""Membership events that end an ownership."""

EVENTS = {"assigned": "is assigned", "revoked": "revokes", "lost": "loses"}


def of_group(history: History, log: Log, example: Mapping[str, int | None], labels: Labels) -> Surroundings:
    """For a finding of the anomalies in `NAMES`."""
    began = example["time"]
    assert began is not None
    ended = began + (example.get("lasted") or 0)
    names = groups_of(history, log, example)
    # For a finding that lasts, events about other logs count as well: they show which members were alive.
    members = member_events(history, names, None if "lasted" in example else log, began, ended)
    commits = commit_rows(history, names, log, began, ended)
    earlier = [
        row
        for name in COMMITTED
        if (offset := example.get(name)) is not None
        for row in commits_of_offset(history, names, log, offset, before=began).rows
    ]
    committed = sorted({(row.invoked, row.process, row.op): row for row in (*commits.rows, *earlier)}.items())
    processes = sorted({row.process for row in (*members.rows, *(row for _, row in committed))})
    ends = process_ends(history, processes)
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
        notes=(*members.notes("membership events", "nearest"), *commits.notes("commits", "nearest")),
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


TIME = "coalesce(completed, invoked)"
EVENT = "get_json_object(value, '$.event')"


def groups_of(history: History, log: Log, example: Mapping[str, int | None]) -> tuple[str, ...]:
    """The groups of a finding: that of its operation, else those of its process, else all that read the log."""
    rows = history.operations.where("f in ('member', 'commit')")
    filtered = [
        rows.where(F.col(column) == known)
        for column in ("op", "process")
        if (known := example.get(column)) is not None
    ]
    for candidates in (*filtered, log.rows(rows)):
        names = sorted(row.group for row in candidates.select("group").distinct().limit(MAX_ROWS).collect())
        if names:
            return tuple(names)
    return ()


def member_events(
    history: History, names: Collection[str], log: Log | None, began: int, ended: int
) -> Excerpt:
    """The membership events of groups nearest to a span (ns): those about a log, or about all logs for None.

    Columns: group, process, op, type, event, generation, topic, partition, start_offset, policy (auto.offset.reset),
    instance (group.instance.id), invoked, completed.
    """
    rows = _of(history, "member", names)
    if log is not None:
        rows = rows.where(
            F.col("topic").isNull() | ((F.col("topic") == log.topic) & (F.col("partition") == log.partition))
        )
    rows = rows.selectExpr(
        "group", "process", "op", "type", f"{EVENT} as event", "generation", "topic", "partition", "start_offset",
        "get_json_object(value, '$.auto_offset_reset') as policy", "get_json_object(value, '$.instance') as instance",
        "invoked", "completed",
    )  # fmt: skip
    return nearest_rows(rows, TIME, began, ended, ["invoked", "process", "op"])


def commit_rows(history: History, names: Collection[str], log: Log, began: int, ended: int) -> Excerpt:
    """The commits for a log nearest to a span (ns).

    Columns: group, process, op, type, generation, offset, reset, transaction (op; null for none), invoked, completed.
    """
    return nearest_rows(_commits(history, names, log), TIME, began, ended, ["invoked", "process", "op"])


def commits_of_offset(
    history: History, names: Collection[str], log: Log, offset: int, *, before: int
) -> Excerpt:
    """The first acknowledged commits of an offset that completed at or before a time (ns); columns of `commits`."""
    rows = _commits(history, names, log).where((F.col("offset") == offset) & (F.col("completed") <= before))
    return first_rows(rows.where("type = 'ok'"), ["invoked", "process", "op"])


def process_ends(history: History, processes: Collection[int]) -> Excerpt:
    """How and when these client processes ended. Columns: process, event, time (ns)."""
    rows = history.operations.where(f"f = 'worker' and process = {HARNESS}").selectExpr(
        "cast(get_json_object(value, '$.process') as int) as process", f"{EVENT} as event", f"{TIME} as time"
    )
    ended = rows.where("event in ('stopped', 'crashed', 'killed')").where(F.col("process").isin(*processes))
    return first_rows(ended, ["time", "process", "event"])


def _of(history: History, f: str, names: Collection[str]) -> DataFrame:
    return history.operations.where(F.col("f") == f).where(F.col("group").isin(*names))


def _commits(history: History, names: Collection[str], log: Log) -> DataFrame:
    return log.rows(_of(history, "commit", names)).selectExpr(
        "group", "process", "op", "type", "generation", "end_offset as offset",
        "coalesce(get_json_object(value, '$.reset') = 'true', false) as reset",
        "get_json_object(value, '$.transaction') as transaction", "invoked", "completed",
    )  # fmt: skip
