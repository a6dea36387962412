"""The definition of wrong totals in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.oracles.removals import final_read, is_compacted, removed_to
from tests.support.oracles.rows import Oracle, Row, Tables, log
from tests.support.oracles.transactions import intact, sends
from tests.support.random_histories.snapshots import snapshot_history

Part = tuple[tuple[str, int], int]
"""Log and value of a record with an amount."""


def parts(tables: Tables) -> dict[Part, list[Row]]:
    """All that the history says of each."""
    found: dict[Part, list[Row]] = {}
    for row in (*sends(tables), *intact(tables)):
        if row.get("amount") is not None:
            found.setdefault((log(row), row["value"]), []).append(row)
    return found


def transaction(rows: list[Row]) -> int:
    sent = [row["transaction"] for row in rows if row["f"] == "send" and row.get("transaction") is not None]
    return int(sent[0] if sent else rows[0]["value"])


def snapshots(tables: Tables) -> Iterator[tuple[int, list[Row]]]:
    """Process, and its completed reads up to one of its snapshots, each with its number."""
    reads = [
        o | {"number": json.loads(o.get("value") or "{}").get("snapshot")}
        for o in tables["operations"]
        if o["f"] == "read"
    ]
    reads = [read for read in reads if read["number"] is not None]
    for process, number in {(read["process"], read["number"]) for read in reads}:
        mine = [read for read in reads if read["process"] == process and read["number"] <= number]
        yield process, [read for read in mine if read["type"] == "ok"]


def covers(tables: Tables, reads: list[Row], place: object, offset: int, since: int = -1) -> bool:
    """Whether one of the reads that completed at `since` or later passed the offset."""
    return any(
        log(read) == place
        and read["end_offset"] > offset
        and read["completed"] >= since
        and not is_compacted(tables, read["topic"])
        for read in reads
    )


def has(tables: Tables, reads: list[Row], poll: Row) -> bool:
    return covers(tables, reads, log(poll), poll["offset"], poll["completed"])


def is_due(tables: Tables, reads: list[Row], rows: list[Row]) -> bool:
    """Whether a snapshot that has another record of the transaction has to have this one."""
    offsets = [row["offset"] for row in rows if row["offset"] is not None]
    one = rows[0]
    if not offsets:
        is_whole = removed_to(tables, one) == 0 and not is_compacted(tables, one["topic"])
        return is_whole and final_read(tables["operations"], one) is not None
    return max(offsets) >= removed_to(tables, one) and covers(tables, reads, log(one), max(offsets))


def wrong(tables: Tables) -> int:
    broken = 0
    known = parts(tables)
    for process, reads in snapshots(tables):
        total, seen, had = 0, set(), set()
        for part, rows in known.items():
            polls = [row for row in rows if row["f"] == "poll" and row["process"] == process]
            got = {poll["offset"] for poll in polls if has(tables, reads, poll)}
            total += len(got) * rows[0]["amount"]
            if got:
                had.add(part)
                seen.add(transaction(rows))
        expected = sum(
            rows[0]["amount"]
            for part, rows in known.items()
            if transaction(rows) in seen and (part in had or is_due(tables, reads, rows))
        )
        broken += total != expected
    return broken


RANDOM = snapshot_history
ORACLES: dict[str, Oracle] = {"wrong-total": wrong}
