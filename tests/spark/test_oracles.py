"""Random histories: the checks agree with definitions spelt out in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from analyzers.catalogue.registry import CHECKS
from analyzers.facts.fact import SENDS_AND_POLLS
from analyzers.facts.registry import NEEDS
from analyzers.judge import prefilter
from analyzers.judge.find import find
from tests.support.random_histories.logs import drawn, told

pytestmark = pytest.mark.spark

Row = dict[str, Any]
Oracle = Callable[[list[Row], list[Row]], int]
HISTORIES = 400
MINE = [check for check in CHECKS if NEEDS.get(check.over, "read") in ("read", SENDS_AND_POLLS)]


def sends(records: list[Row], *types: str) -> list[Row]:
    return [r for r in records if r["f"] == "send" and (not types or r["type"] in types)]


def polls(records: list[Row], *types: str) -> list[Row]:
    return [r for r in records if r["f"] == "poll" and (not types or r["type"] in types)]


def intact(rows: list[Row]) -> list[Row]:
    return [r for r in rows if r.get("error") is None and r["value"] is not None]


def log(row: Row) -> tuple[Any, Any]:
    return row["topic"], row["partition"]


def session(row: Row) -> Any:
    return ("process", row["process"]) if row.get("session") is None else ("session", row["session"])


def final_read(operations: list[Row], of: Row) -> Row | None:
    reads = [o for o in operations if o["f"] == "final-read" and o["type"] == "ok" and log(o) == log(of)]
    return max(reads, key=lambda o: (o["completed"], o["invoked"], o["process"]), default=None)


def fate(send: Row, records: list[Row], operations: list[Row]) -> str:
    """What became of an acknowledged write."""
    here = [p for p in polls(records) if log(p) == log(send)]
    read = [p for p in intact(here) if p["value"] == send["value"]]
    final, offset = final_read(operations, send), send["offset"]
    if final and (
        send["completed"] <= final["invoked"] or (offset is not None and offset < final["end_offset"])
    ):
        for p in read:
            of_it = p["process"] == final["process"] and p["invoked"] >= final["invoked"]
            if p["final"] and p["type"] == "ok" and of_it:
                return "there"
        if offset is not None and offset < final["start_offset"]:
            return "there" if read else "expired"
        return "lost-write"
    if read:
        return "there"
    passed = offset is not None and any(p["offset"] >= offset for p in here)
    return "lost-write" if passed else "unseen"


def fates(name: str) -> Oracle:
    def count(records: list[Row], operations: list[Row]) -> int:
        return sum(fate(s, records, operations) == name for s in sends(records, "ok"))

    return count


def located(records: list[Row]) -> Iterator[tuple[Any, int, int]]:
    for r in sends(records, "ok") + intact(polls(records)):
        if r["offset"] is not None:
            yield log(r), r["offset"], r["value"]


def duplicate(records: list[Row], _: list[Row]) -> int:
    seen = set(located(records))
    values = {(place, v) for place, _, v in seen}
    return sum(sum((p, v) == one for p, _, v in seen) > 1 for one in values)


def conflicts(reused: bool) -> Oracle:
    """Offsets with several values: those of which one value followed the other, or the rest."""

    def count(records: list[Row], _: list[Row]) -> int:
        views = [r for r in sends(records, "ok") + intact(polls(records)) if r["offset"] is not None]
        return sum(
            len(values := times(views, place)) > 1
            and reused == all(follows(a, b) for a, b in pairwise(sorted(values)))
            for place in {(log(r), r["offset"]) for r in views}
        )

    return count


def times(views: list[Row], place: Any) -> list[tuple[int, int, int, set[int]]]:
    """Of each value there: when it was seen first, itself, when it was seen last, and in which epochs."""
    here = [r for r in views if (log(r), r["offset"]) == place]
    values = []
    for value in {r["value"] for r in here}:
        mine = [r for r in here if r["value"] == value]
        seen = [r["completed"] for r in mine]
        epochs = {r["leader_epoch"] for r in mine if r.get("leader_epoch") is not None}
        values.append((min(seen), value, max(seen), epochs))
    return values


def follows(a: tuple[int, int, int, set[int]], b: tuple[int, int, int, set[int]]) -> bool:
    return a[2] < b[0] and bool(b[3]) and min(b[3]) > max(a[3], default=0)


def done(records: list[Row], f: str) -> list[Row]:
    rows = sends(records, "ok") if f == "send" else polls(records)
    return [r for r in sorted(rows, key=lambda r: r["index"]) if r["offset"] is not None]


def together(rows: list[Row], *names: str) -> Iterator[list[Row]]:
    key = lambda r: (r["process"], log(r), r["assignment"], *(r.get(name) for name in names))  # noqa: E731
    for one in {key(r) for r in rows}:
        yield [r for r in rows if key(r) == one]


def same_operation(a: Row, b: Row) -> bool:
    name = "op" if a["f"] == "poll" else "transaction"
    return a.get(name) is not None and a.get(name) == b.get(name)


def steps(records: list[Row], operations: list[Row], f: str) -> Iterator[tuple[Row, Row, bool]]:
    """Neighbours in what one process did to one log within one assignment, and whether in one operation."""
    for mine in together(done(records, f)):
        for a, b in pairwise(mine):
            if a.get("generation") == b.get("generation"):
                yield a, b, same_operation(a, b)
            elif not any(
                o["f"] == "member"
                and "assigned" in o["value"]
                and (o["process"], log(o)) == (a["process"], log(a))
                and a["generation"] < o["generation"] <= b["generation"]
                for o in operations
            ):
                yield a, b, False


def keyed_back(records: list[Row], f: str) -> Iterator[tuple[Row, Row, bool]]:
    """Neighbours of one key that went back although the step to the second of them did not."""
    rows = done(records, f)
    before = {id(b): a for mine in together(rows, "generation") for a, b in pairwise(mine)}
    for mine in together([r for r in rows if r.get("key") is not None], "generation", "key"):
        for a, b in pairwise(mine):
            if b["offset"] <= a["offset"] and b["offset"] > before[id(b)]["offset"]:
                yield a, b, same_operation(a, b)


def nonmonotonic(f: str, within: bool) -> Oracle:
    def count(records: list[Row], operations: list[Row]) -> int:
        back = [s for s in steps(records, operations, f) if s[1]["offset"] <= s[0]["offset"]]
        return sum(s[2] == within for s in [*back, *keyed_back(records, f)])

    return count


def between(a: Row, b: Row, rows: list[Row]) -> bool:
    offsets = (r["offset"] for r in rows if log(r) == log(a) and r["offset"] is not None)
    return any(a["offset"] < offset < b["offset"] for offset in offsets)


def poll_skip(within: bool) -> Oracle:
    def count(records: list[Row], operations: list[Row]) -> int:
        return sum(
            inside == within
            and between(a, b, [p for p in polls(records) if p["committed"] or not b["committed"]])
            for a, b, inside in steps(records, operations, "poll")
        )

    return count


def send_skip(records: list[Row], operations: list[Row]) -> int:
    known = polls(records) + sends(records, "ok")
    return sum(inside and between(a, b, known) for a, b, inside in steps(records, operations, "send"))


def realtime(records: list[Row], _: list[Row]) -> int:
    acked = done(records, "send")
    return sum(
        any(log(a) == log(b) and a["completed"] < b["invoked"] and a["offset"] > b["offset"] for a in acked)
        for b in acked
    )


def behind_own(f: str) -> Oracle:
    """Acknowledged sends not above what their session polled or was acknowledged before it sent them."""

    def count(records: list[Row], _: list[Row]) -> int:
        readers = {session(p) for p in polls(records)}
        return sum(
            (session(b) in readers or session(b)[0] == "session")
            and any(
                (session(a), log(a)) == (session(b), log(b))
                and a["completed"] < b["invoked"]
                and a["offset"] >= b["offset"]
                for a in done(records, f)
            )
            for b in done(records, "send")
        )

    return count


def ok_reads(operations: list[Row]) -> list[Row]:
    return [o for o in operations if o["f"] == "read" and o["type"] == "ok"]


def read_your_writes(records: list[Row], operations: list[Row]) -> int:
    broken = 0
    for s in sends(records, "ok"):
        later = [
            r
            for r in ok_reads(operations)
            if session(r) == session(s) and log(r) == log(s) and r["invoked"] >= s["completed"]
        ]
        if later:
            read = min(later, key=lambda r: (r["invoked"], r["completed"]))
            broken += not any(
                session(p) == session(s)
                and log(p) == log(s)
                and p["value"] == s["value"]
                and p["completed"] <= read["completed"]
                for p in intact(polls(records))
            )
    return broken


def session_nonmonotonic(records: list[Row], operations: list[Row]) -> int:
    broken = 0
    for read in ok_reads(operations):
        same = lambda row, read=read: session(row) == session(read) and log(row) == log(read)  # noqa: E731
        before = [p["offset"] + 1 for p in polls(records) if same(p) and p["completed"] < read["invoked"]]
        before += [
            r["end_offset"]
            for r in ok_reads(operations)
            if r is not read and same(r) and r["completed"] <= read["invoked"]
        ]
        broken += any(end > read["end_offset"] for end in before)
    return broken


def phantom(records: list[Row], _: list[Row]) -> int:
    written = {(log(s), s["value"]) for s in sends(records)}
    return len({(log(p), p["value"]) for p in intact(polls(records))} - written)


def aborted(records: list[Row], _: list[Row]) -> int:
    return sum(
        any(
            (log(p), p["value"]) == (log(s), s["value"]) and (s["transaction"] is None or p["committed"])
            for p in intact(polls(records))
        )
        for s in sends(records, "fail")
    )


def future(records: list[Row], _: list[Row]) -> int:
    early = lambda p, s: log(p) == log(s) and p["value"] == s["value"] and p["completed"] < s["invoked"]  # noqa: E731
    return sum(any(early(p, s) for p in intact(polls(records))) for s in sends(records))


def payload(*errors: str) -> Oracle:
    return lambda records, _: sum(p.get("error") in errors for p in polls(records))


ORACLES: dict[str, Oracle] = {
    "lost-write": fates("lost-write"),
    "unseen": fates("unseen"),
    "expired": fates("expired"),
    "duplicate": duplicate,
    "inconsistent-offsets": conflicts(False),
    "offset-reuse": conflicts(True),
    "phantom-read": phantom,
    "G1a": aborted,
    "future-read": future,
    "foreign-record": payload("foreign", "misrouted"),
    "corrupt-record": payload("corrupt"),
    "read-your-writes": read_your_writes,
    "monotonic-reads": session_nonmonotonic,
    "monotonic-writes": behind_own("send"),
    "writes-follow-reads": behind_own("poll"),
    "poll-skip": poll_skip(False),
    "int-poll-skip": poll_skip(True),
    "nonmonotonic-poll": nonmonotonic("poll", False),
    "int-nonmonotonic-poll": nonmonotonic("poll", True),
    "nonmonotonic-send": nonmonotonic("send", False),
    "int-nonmonotonic-send": nonmonotonic("send", True),
    "int-send-skip": send_skip,
    "realtime-order": realtime,
}


def test_every_check_has_an_oracle() -> None:
    """But for those over transactions and groups, which have their own file."""
    assert set(ORACLES) == {check.name for check in MINE}


@pytest.fixture(scope="module")
def stories(story: Any) -> dict[str, Any]:
    return drawn(told(story), HISTORIES)


@pytest.mark.parametrize("many", [prefilter.MAX_RESIDUES, 0])
def test_checks_agree_with_the_oracles(
    stories: dict[str, Any], loaded: Any, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Also where there are too many suspects to look at no others."""
    monkeypatch.setattr(prefilter, "MAX_RESIDUES", many)
    found, crashed = find(loaded(stories), MINE, examples=0)
    assert not crashed
    counted = {(one.run, one.anomaly): one.count for one in found}
    met = dict.fromkeys([*ORACLES, "kept by a member", "order of a key"], 0)
    for run, one in stories.items():
        rows = one.rows(run)
        for anomaly, oracle in ORACLES.items():
            expected = oracle(rows["records"], rows["operations"])
            met[anomaly] += bool(expected)
            assert counted.get((run, anomaly), 0) == expected, (anomaly, rows)
        polled = steps(rows["records"], rows["operations"], "poll")
        met["kept by a member"] += any(a.get("generation") != b.get("generation") for a, b, _ in polled)
        met["order of a key"] += any(keyed_back(rows["records"], "poll"))
    # An agreement on nothing would prove nothing.
    assert {anomaly: n for anomaly, n in met.items() if n < 5} == {}
