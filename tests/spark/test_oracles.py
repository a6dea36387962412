"""Random histories: the checks agree with definitions spelt out in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from analyzers.checks import CHECKS
from analyzers.facts import NEEDS
from analyzers.find import find

pytestmark = pytest.mark.spark

Row = dict[str, Any]
Oracle = Callable[[list[Row], list[Row]], int]
HISTORIES = 400
MINE = [check for check in CHECKS if check.over not in NEEDS]


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
    here = [p for p in polls(records, "ok") if log(p) == log(send)]
    read = [p for p in intact(here) if p["value"] == send["value"]]
    final, offset = final_read(operations, send), send["offset"]
    if final and (
        send["completed"] <= final["invoked"] or (offset is not None and offset < final["end_offset"])
    ):
        for p in read:
            if p["final"] and p["process"] == final["process"] and p["invoked"] >= final["invoked"]:
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


def inconsistent(records: list[Row], _: list[Row]) -> int:
    seen = set(located(records))
    offsets = {(place, o) for place, o, _ in seen}
    return sum(sum((p, o) == one for p, o, _ in seen) > 1 for one in offsets)


def steps(records: list[Row], f: str) -> Iterator[tuple[Row, Row]]:
    """Neighbours in what one process did to one log within one assignment."""
    rows = sends(records, "ok") if f == "send" else polls(records)
    rows = [r for r in sorted(rows, key=lambda r: r["index"]) if r["offset"] is not None]
    key = lambda r: (r["process"], log(r), r["assignment"])  # noqa: E731
    for one in {key(r) for r in rows}:
        mine = [r for r in rows if key(r) == one]
        yield from pairwise(mine)


def nonmonotonic(f: str) -> Oracle:
    return lambda records, _: sum(b["offset"] <= a["offset"] for a, b in steps(records, f))


def poll_skip(records: list[Row], _: list[Row]) -> int:
    return sum(
        any(log(p) == log(a) and a["offset"] < p["offset"] < b["offset"] for p in polls(records))
        for a, b in steps(records, "poll")
    )


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
    failed = {(log(s), s["value"]) for s in sends(records, "fail")}
    return len({(log(p), p["value"]) for p in intact(polls(records, "ok"))} & failed)


def future(records: list[Row], _: list[Row]) -> int:
    early = lambda p, s: log(p) == log(s) and p["value"] == s["value"] and p["completed"] < s["invoked"]  # noqa: E731
    return sum(any(early(p, s) for p in intact(polls(records))) for s in sends(records))


def payload(error: str) -> Oracle:
    return lambda records, _: sum(p.get("error") == error for p in polls(records))


ORACLES: dict[str, Oracle] = {
    "lost-write": fates("lost-write"),
    "unseen": fates("unseen"),
    "expired": fates("expired"),
    "duplicate": duplicate,
    "inconsistent-offsets": inconsistent,
    "nonmonotonic-poll": nonmonotonic("poll"),
    "poll-skip": poll_skip,
    "nonmonotonic-send": nonmonotonic("send"),
    "read-your-writes": read_your_writes,
    "session-nonmonotonic-read": session_nonmonotonic,
    "phantom-read": phantom,
    "G1a": aborted,
    "future-read": future,
    "foreign-read": payload("foreign"),
    "corrupt-read": payload("corrupt"),
    "misrouted-read": payload("misrouted"),
}

TIME = st.integers(0, 12)
SPAN = st.tuples(TIME, st.integers(0, 4)).map(lambda t: (t[0], t[0] + t[1]))
OFFSET = st.integers(0, 5)
PARTITION = st.sampled_from([0, 0, 0, 1])
TYPE = st.sampled_from(["ok", "ok", "ok", "info", "fail"])
SESSION = st.sampled_from([None, 1, 1, 2])
PROCESS = st.sampled_from([1, 2, 3])


@st.composite
def told(draw: st.DrawFn, story: Any) -> Any:
    """A history in which hardly anything is as it should be; small, so that much meets."""
    s = story()
    values = [process << 40 | sequence for process, sequence in product((1, 2), (0, 1, 2))]
    for value in draw(st.lists(st.sampled_from(values), unique=True)):
        offset = draw(st.one_of(st.none(), OFFSET))
        more = {"type": draw(TYPE), "partition": draw(PARTITION), "session": draw(SESSION)}
        s.send(value, offset, at=draw(SPAN), **more)
    for _ in range(draw(st.integers(0, 8))):
        error = draw(st.sampled_from([None] * 9 + ["foreign", "corrupt", "misrouted"]))
        value = draw(st.sampled_from(values)) if error in (None, "misrouted") else None
        s.poll(
            value,
            draw(OFFSET),
            error=error,
            at=draw(SPAN),
            process=draw(PROCESS),
            type=draw(st.sampled_from(["ok", "ok", "ok", "info"])),
            partition=draw(PARTITION),
            session=draw(SESSION),
            assignment=draw(st.sampled_from([1, 1, 2])),
            final=draw(st.booleans()),
        )
    for _ in range(draw(st.integers(0, 4))):
        more = {"type": draw(TYPE), "partition": draw(PARTITION), "session": draw(SESSION)}
        s.operation(
            "read", end_offset=draw(OFFSET), start_offset=0, process=draw(PROCESS), at=draw(SPAN), **more
        )
    for _ in range(draw(st.integers(0, 2))):
        start, length = draw(st.sampled_from([0, 0, 1, 3, 5])), draw(st.integers(0, 4))
        ends = {"start_offset": start, "end_offset": start + length}
        kind = draw(st.sampled_from(["ok", "ok", "ok", "fail"]))
        more = {"type": kind, "partition": draw(PARTITION), "process": draw(PROCESS)}
        s.operation("final-read", at=draw(SPAN), **ends, **more)
    return s


def test_every_check_has_an_oracle() -> None:
    """But for those over transactions and groups, which have their own file."""
    assert set(ORACLES) == {check.anomaly for check in MINE}


def test_checks_agree_with_the_oracles(story: Any, loaded: Any) -> None:
    """Hypothesis only draws here: all histories are judged in one job, and none is shrunk."""
    stories: dict[str, Any] = {}

    @settings(
        max_examples=HISTORIES,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(told(story))
    def draw(one: Any) -> None:
        stories[f"h{len(stories)}"] = one

    draw()
    found, crashed = find(loaded(stories), MINE, examples=0)
    assert not crashed
    counted = {(one.run, one.anomaly): one.count for one in found}
    met = dict.fromkeys(ORACLES, 0)
    for run, one in stories.items():
        rows = one.rows(run)
        for anomaly, oracle in ORACLES.items():
            expected = oracle(rows["records"], rows["operations"])
            met[anomaly] += bool(expected)
            assert counted.get((run, anomaly), 0) == expected, (anomaly, rows)
    # An agreement on nothing would prove nothing.
    assert {anomaly: n for anomaly, n in met.items() if n < 5} == {}
