"""What records of a log mean to the checks, in many small variants as JSON lines, which are judged together.

Settings that change, records of transactions, tombstones, isolation levels, and equal times. Each has a twin, or
several, that differs in little and has another verdict. All are judged a second time with all of it in two
partitions.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import pytest

from analyzers.judge.analyze import analyze
from tests.support.json_lines import Row, final_read, poll, send, write_lines
from workloads.history.lines.imports import import_lines

pytestmark = pytest.mark.spark

DAYS = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}
COMPACT = DAYS | {"cleanup.policy": "compact", "delete.retention.ms": "86400000"}
FORGETS = COMPACT | {"delete.retention.ms": "0"}


def topic(**config: Any) -> Row:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    return {"f": "topic", "topic": "t", "invoked": 0, "config": DAYS | settings}


def alter(at: int, change: str = "config", *, type: str = "ok", **more: Any) -> Row:
    row = {"f": "alter", "process": "admin", "topic": "t", "type": type, "change": change}
    return row | {"invoked": at, "completed": at + 1} | more


def unanswered(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "completed"}


def sample(at: int, *, node: int = 1, **config: Any) -> Row:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    return {"f": "sample", "kind": "settings", "time": at, "node": node, "topic": "t", "value": settings}


def txn(op: str, at: int, outcome: str, *, type: str = "ok") -> Row:
    row = {
        "f": "txn",
        "op": op,
        "process": "writer",
        "transactional_id": "x",
        "type": type,
        "outcome": outcome,
    }
    return row | {"invoked": at, "completed": at + 5, "ending": at + 4}


def read(at: int, end: int, **more: Any) -> Row:
    row = {"f": "read", "process": "mine", "session": "s", "topic": "t", "partition": 0, "type": "ok"}
    return row | {"invoked": at, "completed": at + 5, "start_offset": 0, "end_offset": end} | more


def kept(*places: int, start: int = 0, end: int = 3, at: int = 900) -> list[Row]:
    """A final read that found the values v0, v1, ... at these offsets."""
    row = final_read(at, end=end)[0] | {"start_offset": start}
    records = [{"offset": place, "value": f"v{place}", **KEYS[place]} for place in places]
    return [row, poll(at + 1, process="last", final=True) | {"records": records}] if places else [row]


KEYS: dict[int, Row] = {place: {"key": key} for place, key in enumerate([4, 5, 4, 6])}
"""Of the records that `keyed` writes."""


def plain(*, keys: bool = False) -> list[Row]:
    return [send(f"v{n}", 10 + 2 * n, n, **(KEYS[n] if keys else {})) for n in range(3)]


def keyed() -> list[Row]:
    return plain(keys=True)


def passed(at: int, *values: str, first: int = 0) -> Row:
    """A reader of all records, with their keys."""
    row = poll(at, *values, first=first)
    for record in row["records"]:
        record |= {"key": 4, "tombstone": True} if record["value"] == "x" else KEYS[record["offset"]]
    return row


def anew(*found: str, first: int = 0) -> list[Row]:
    """Two records in the new topic, and a final read that found these of them."""
    written = [send(f"new-{value}", 200 + 10 * n, n) for n, value in enumerate(["v0", "v1"])]
    row, polled = final_read(900, *(f"new-{value}" for value in found), end=2)
    polled["records"] = [record | {"offset": first + n} for n, record in enumerate(polled["records"])]
    return [*written, row, polled]


READ_ALL = poll(30, "v0", "v1", "v2")

LOST, EXPIRED = {"lost-write": 1}, {"expired": 1}
BEGINNING, FIRST = kept(1, 2, start=1), kept(1, 2)
ABORTED: Row = {"type": "info", "transaction": "T"}

CASES: dict[str, tuple[Iterable[Row], dict[str, int]]] = {
    # Settings that change.
    "retention lowered": ([topic(), *plain(), alter(50, retention_ms=100), *BEGINNING], EXPIRED),
    "lowered by name": ([topic(), *plain(), alter(50, config={"retention.ms": "100"}), *BEGINNING], EXPIRED),
    "perhaps lowered": ([topic(), *plain(), alter(50, type="info", retention_ms=100), *BEGINNING], EXPIRED),
    "lowered, never answered": (
        [topic(), *plain(), unanswered(alter(50, type="info", retention_ms=100)), *BEGINNING], EXPIRED
    ),
    "lowered, sampled": ([topic(), *plain(), sample(60, node=2, retention_ms="100"), *BEGINNING], EXPIRED),
    "lowered in vain": ([topic(), *plain(), alter(50, type="fail", retention_ms=100), *BEGINNING], LOST),
    "lowered little": ([topic(), *plain(), alter(50, retention_ms=3_600_000), *BEGINNING], LOST),
    "sampled as it was": ([topic(), *plain(), sample(60, retention_ms="604800000"), *BEGINNING], LOST),
    "lowered too late": ([topic(), *plain(), *BEGINNING, alter(950, retention_ms=100)], LOST),
    "lowered elsewhere": (
        [topic(), *plain(), alter(50, retention_ms=100) | {"topic": "u"}, *BEGINNING], LOST
    ),
    "limited in bytes": (
        [topic(), *plain(), alter(50, config={"retention.bytes": "1"}), *BEGINNING], EXPIRED
    ),
    "without a topic line": ([*plain(), alter(50, retention_ms=100), *BEGINNING], EXPIRED),
    "lost from the middle": ([topic(), *plain(), alter(50, retention_ms=100), *kept(0, 2)], LOST),
    "compacted later": ([topic(), *keyed(), alter(50, config={"cleanup.policy": "compact"}), *FIRST], {}),
    "compacted, perhaps": (
        [topic(), *keyed(), alter(50, type="info", config={"cleanup.policy": "compact,delete"}), *FIRST], {}
    ),
    "compacted, sampled": ([topic(), *keyed(), sample(60, cleanup_policy="compact"), *FIRST], {}),
    "compacted in vain": (
        [topic(), *keyed(), alter(50, type="fail", config={"cleanup.policy": "compact"}), *FIRST], LOST
    ),
    "never compacted": ([topic(), *keyed(), *FIRST], LOST),
    "compacted before": (
        [topic(**COMPACT), *keyed(), alter(50, config={"cleanup.policy": "delete"}), *FIRST], {}
    ),
    "compacted, the newest lost": (
        [topic(), *keyed(), alter(50, config={"cleanup.policy": "compact"}), *kept(0, 1)], LOST
    ),
    "compaction waits": ([topic(**COMPACT, min_compaction_lag_ms="86400000"), *keyed(), *FIRST], LOST),
    "compaction waited": (
        [topic(**COMPACT, min_compaction_lag_ms="86400000"), *keyed(),
         alter(50, config={"min.compaction.lag.ms": "0"}), *FIRST], {}
    ),
    # A topic that an administrator deletes, and creates again.
    "made again": ([topic(), *plain(), READ_ALL, alter(100, "delete"), alter(150, "create"), *anew("v0", "v1")], {}),
    "made again, perhaps deleted": (
        [topic(), *plain(), READ_ALL, alter(100, "delete", type="info"), alter(150, "create"), *anew("v0", "v1")], {}
    ),
    "made again on demand": ([topic(), *plain(), READ_ALL, alter(100, "delete"), *anew("v0", "v1")], {}),
    "made again, and lost": (
        [topic(), *plain(), READ_ALL, alter(100, "delete"), alter(150, "create"), *anew("v1", first=1)], LOST
    ),
    "not made again": (
        [topic(), *plain(), READ_ALL, alter(100, "delete", type="fail"), alter(150, "create", type="fail"),
         *kept(1, 2)],
        LOST,
    ),
    "deleted at the end": ([topic(), *plain(), *kept(1, 2), alter(950, "delete")], LOST),
    # Records of transactions.
    "overwritten by an aborted one": (
        [topic(**COMPACT), *keyed()[:2], txn("T", 20, "abort"), send("v2", 14, 2, key=4, **ABORTED), *kept(1, 2)],
        LOST,
    ),
    "overwritten by a failed one": (
        [topic(**COMPACT), *keyed()[:2], txn("T", 20, "commit", type="fail"), send("v2", 14, 2, key=4, **ABORTED),
         *kept(1, 2)],
        LOST,
    ),
    "overwritten by an open one": (
        [topic(**COMPACT), *keyed()[:2], txn("T", 20, "commit", type="info"), send("v2", 14, 2, key=4, **ABORTED),
         *kept(1, 2)],
        {},
    ),
    "overwritten by a committed one": (
        [topic(**COMPACT), *keyed()[:2], txn("T", 20, "commit"), send("v2", 14, 2, key=4, transaction="T"),
         *kept(1, 2)],
        {},
    ),
    "deleted by an aborted one": (
        [topic(**COMPACT), *keyed()[:2], txn("T", 20, "abort"), send("x", 14, 2, key=4, tombstone=True, **ABORTED),
         send("v3", 16, 3, key=6), passed(30, "v0", "v1", "x", "v3"), *kept(0, 1, 3, end=4)],
        {},
    ),
    "deleted by a committed one": (
        [topic(**COMPACT), *keyed()[:2], txn("T", 20, "commit"),
         send("x", 14, 2, key=4, tombstone=True, transaction="T"), send("v3", 16, 3, key=6),
         passed(30, "v0", "v1", "x", "v3"), *kept(0, 1, 3, end=4)],
        {"lost-write": 1, "risen-key": 1},
    ),
    # Tombstones without an acknowledgement.
    "behind a polled tombstone": (
        [topic(**FORGETS), *keyed()[:1], send("x", 12, key=4, tombstone=True), send("v2", 16, 2, key=4),
         passed(30, "v0", "x"), *kept(end=3)],
        LOST,
    ),
    "behind a tombstone that was not polled": (
        [topic(**FORGETS), *keyed()[:1], send("x", 12, key=4, tombstone=True), send("v2", 16, 2, key=4),
         passed(30, "v0"), *kept(end=3)],
        {},
    ),
    "before a polled tombstone": (
        [topic(**FORGETS), *keyed()[:1], send("x", 12, key=4, tombstone=True), passed(30, "v0", "x"),
         *kept(end=2)],
        {},
    ),
    # Isolation levels.
    "uncommitted, then committed": ([*plain(), read(30, 3), read(40, 2, committed=True), *kept(0, 1, 2)], {}),
    "committed, then less": (
        [*plain(), read(30, 3, committed=True), read(40, 2, committed=True), *kept(0, 1, 2)], {"monotonic-reads": 1}
    ),
    "uncommitted, then less": ([*plain(), read(30, 3), read(40, 2), *kept(0, 1, 2)], {"monotonic-reads": 1}),
    "committed, then uncommitted and less": (
        [*plain(), read(30, 3, committed=True), read(40, 2), *kept(0, 1, 2)], {"monotonic-reads": 1}
    ),
    # Equal times.
    "acknowledged at the final read": ([*plain()[:2], send("v2", 899, 2), *kept(0, 1, end=2)], {"unseen": 1}),
    "acknowledged before the final read": ([*plain()[:2], send("v2", 898, 2), *kept(0, 1, end=2)], LOST),
    "polled at the final read": ([*plain()[:2], send("v2", 14), passed(899, "v2", first=2), *kept(0, 1, end=2)], {}),
    "polled before the final read": (
        [*plain()[:2], send("v2", 14), passed(898, "v2", first=2), *kept(0, 1, end=2)], {"lost-read": 1}
    ),
    "own write, at once": (
        [*plain()[:2], send("v2", 30, 2, process="mine", session="s"), read(31, 2), *kept(0, 1, 2)], {}
    ),
    "own write, then": (
        [*plain()[:2], send("v2", 29, 2, process="mine", session="s"), read(31, 2), *kept(0, 1, 2)],
        {"read-your-writes": 1},
    ),
    "a read at the end of another": ([*plain(), read(30, 3), read(35, 2), *kept(0, 1, 2)], {}),
    # Overwritten keys.
    "overwritten and never read": ([topic(**COMPACT), *keyed(), *FIRST], {}),
    "overwritten, also by time": (
        [topic(**COMPACT | {"cleanup.policy": "compact,delete"}), *keyed(), *BEGINNING], {}
    ),
}  # fmt: skip
"""By name: the lines, and what is found of the log."""


def twice(rows: Iterable[Row]) -> list[Row]:
    """Everything of partition 0 in partition 1 as well, with other values and clients."""
    return [*rows, *(_elsewhere(row) for row in rows if row.get("partition") == 0 or row["f"] == "txn")]


def _elsewhere(row: Row) -> Row:
    again = copy.deepcopy(row)
    for name in ("value", "op", "transaction", "transactional_id", "process", "session"):
        if isinstance(again.get(name), str):
            again[name] += "-1"
    for record in again.get("records", []):
        record["value"] += "-1"
    return again | ({"partition": 1} if "partition" in row else {})


@pytest.fixture(scope="module")
def found(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    folder, homes = tmp_path_factory.mktemp("variants"), []
    for number, (rows, _) in enumerate(CASES.values()):
        for name, of in ((f"one-{number}", list(rows)), (f"two-{number}", twice(list(rows)))):
            homes.append(folder / name)
            import_lines(write_lines(folder / f"{name}.jsonl", *of), homes[-1])
    verdicts = analyze(spark, homes, examples=0)
    return {run: {each.anomaly: each.count for each in of.findings} for run, of in verdicts.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_variant_has_its_verdict(found: dict[str, dict[str, int]], name: str) -> None:
    number, expected = list(CASES).index(name), CASES[name][1]
    assert found[f"one-{number}"] == expected
    assert found[f"two-{number}"] == {anomaly: 2 * count for anomaly, count in expected.items()}
