"""Definitions of the anomalies of copies in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.support.oracles.groups import assigned, commits, group_log
from tests.support.oracles.removals import final_read, is_compacted, removed_to
from tests.support.oracles.rows import Oracle, Row, Tables, log
from tests.support.oracles.transactions import intact, sends, spans
from tests.support.random_histories.copies import copy_history


def copiers(tables: Tables) -> set[tuple[str, int]]:
    """Group and process."""
    copying = {s["process"] for s in sends(tables) if s.get("source") is not None}
    rows = [o for o in tables["operations"] if o["f"] in ("member", "commit")]
    return {(o["group"], o["process"]) for o in rows if o["process"] in copying}


def by_copy(tables: Tables) -> dict[tuple[object, int], list[Row]]:
    """All that the history says of each copy, by log and value."""
    found: dict[tuple[object, int], list[Row]] = {}
    for row in (*sends(tables), *intact(tables)):
        if row.get("source") is not None:
            found.setdefault((log(row), row["value"]), []).append(row)
    return found


def is_plain(rows: list[Row]) -> bool:
    sent = [row for row in rows if row["f"] == "send"]
    return bool(sent) and all(row.get("transaction") is None for row in sent)


def is_readable(rows: list[Row]) -> bool:
    return any(
        row["type"] == "ok" if row["f"] == "send" else row.get("committed") or is_plain(rows) for row in rows
    )


def is_unreadable(tables: Tables, rows: list[Row]) -> bool:
    if is_readable(rows):
        return False
    if any(row["f"] == "send" and row["type"] == "fail" for row in rows):
        return True
    polled = [row["offset"] for row in rows if row["f"] == "poll"]
    one = rows[0]
    if not polled:
        is_whole = removed_to(tables, one) == 0 and not is_compacted(tables, one["topic"])
        return is_whole and final_read(tables["operations"], one) is not None
    ranges = [(low, high) for place, _, low, high in spans(tables) if place == log(one)]
    return not is_plain(rows) and any(low <= max(polled) <= high for low, high in ranges)


def copies_of(tables: Tables, group: str, value: int) -> list[list[Row]]:
    members = {process for of, process in copiers(tables) if of == group}
    return [
        rows
        for (_, copy), rows in by_copy(tables).items()
        if rows[0]["source"] == value and copy >> 40 in members
    ]


def is_reset(tables: Tables, place: object) -> bool:
    return any(group_log(c) == place and c["reset"] and c["type"] != "fail" for c in commits(tables))


def sources(tables: Tables) -> Iterator[tuple[str, int, list[Row]]]:
    """Group, value, and what the history says of each record of a log of which a group of copiers committed."""
    groups = {group for group, _ in copiers(tables)}
    for group, place in {group_log(c) for c in commits(tables) if c["group"] in groups}:
        rows = [row for row in (*sends(tables), *intact(tables)) if log(row) == place]
        for value in {row["value"] for row in rows}:
            yield group, value, [row for row in rows if row["value"] == value]


def is_kept(tables: Tables, rows: list[Row]) -> bool:
    final = final_read(tables["operations"], rows[0])
    found = final is not None and any(
        row["f"] == "poll"
        and row.get("final")
        and row["process"] == final["process"]
        and row["invoked"] >= final["invoked"]
        for row in rows
    )
    return found and any(
        row.get("committed") if row["f"] == "poll" else row.get("transaction") is None or row["type"] == "ok"
        for row in rows
    )


def lost(tables: Tables) -> int:
    broken = 0
    for group, value, rows in sources(tables):
        place = (group, log(rows[0]))
        starts = [
            a["start_offset"]
            for a in assigned(tables)
            if group_log(a) == place and a["start_offset"] is not None
        ]
        if is_reset(tables, place) or not starts or not is_kept(tables, rows):
            continue
        offset = min(row["offset"] for row in rows if row["f"] == "poll")
        is_passed = any(
            group_log(c) == place
            and c["type"] == "ok"
            and c["completed"] is not None
            and c["offset"] > offset
            for c in commits(tables)
        )
        made = copies_of(tables, group, value)
        broken += is_passed and offset >= min(starts) and all(is_unreadable(tables, copy) for copy in made)
    return broken


def twice(tables: Tables) -> int:
    broken = 0
    known = {(group, value): rows for group, value, rows in sources(tables)}
    groups = {group for group, _ in copiers(tables)}
    values = {rows[0]["source"] for rows in by_copy(tables).values()}
    for group, value in ((group, value) for group in groups for value in values):
        rows = known.get((group, value), [])
        offsets = {row["offset"] for row in rows if row["f"] == "poll"}
        if len(offsets) > 1 or (rows and is_reset(tables, (group, log(rows[0])))):
            continue
        made = [copy for copy in copies_of(tables, group, value) if is_readable(copy)]
        topics = Counter(copy[0]["topic"] for copy in made)
        broken += any(number > 1 for number in topics.values())
    return broken


RANDOM = copy_history
ORACLES: dict[str, Oracle] = {"lost-copy": lost, "duplicate-copy": twice}
